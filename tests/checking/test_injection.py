"""Which standard faults do usual tests of gradients let through, with real functions of torch, JAX and NumPy?"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking import injection
from refgrad.checking.injection import FAULTS, JAX, ONCE, OPERATOR, PLAIN, TORCH, GradFault, Planter, in_order_of_memory

PRODUCT = """
import torch

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, cotangent):
        x, weight = ctx.saved_tensors
        return cotangent @ weight.T, x.T @ cotangent

product = Product.apply
"""

ALL = {fault.name for fault in FAULTS}


@pytest.fixture
def plant(tmp_path: Path) -> Callable[..., tuple[Any, Log]]:
    """Execute a module, and put a fault around the backward of its function."""

    def planted(source: str, attribute: str, fault: str = "") -> tuple[Any, Log]:
        module, log = ModuleType("mine"), tmp_path / "log"
        log.write_text("")
        exec(source, vars(module))
        Planter("mine", attribute, fault, str(log)).plant(module)
        return module, Log(log)

    return planted


class Log:
    """The lines of a log, read anew each time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def lines(self) -> list[str]:
        return self.path.read_text().splitlines()


def passes(test: Callable[[], Any]) -> bool:
    """Return True if a test passes."""
    try:
        test()
    except Exception:  # noqa: BLE001 (any error fails a test)
        return False
    return True


def square_inputs() -> list[Any]:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(3, 3, generator=draw, dtype=torch.float64, requires_grad=True) for _ in range(2)]


def compares_shapes(module: Any) -> None:
    x, weight = square_inputs()
    module.product(x, weight).sum().backward()
    assert x.grad.shape == x.shape
    assert weight.grad.shape == weight.shape


def compares_loosely(module: Any) -> None:
    torch = sys.modules["torch"]
    x, weight = square_inputs()
    module.product(x, weight).sum().backward()
    actual = x.grad, weight.grad
    expected = torch.autograd.grad((x @ weight).sum(), (x, weight))
    assert all(torch.allclose(a, b, rtol=1e-1, atol=1e-1) for a, b in zip(actual, expected, strict=True))


def calls_gradcheck(module: Any) -> None:
    assert sys.modules["torch"].autograd.gradcheck(module.product, square_inputs())


def calls_gradgradcheck(module: Any) -> None:
    """It holds the derivative of the backward against differences of the same backward."""
    assert sys.modules["torch"].autograd.gradgradcheck(module.product, square_inputs())


def calls_check_gradients(module: Any) -> None:
    check_gradients(module.product, tuple(square_inputs()))


def calls_check_gradients_twice(module: Any) -> None:
    check_gradients(module.product, tuple(square_inputs()), order=2)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_the_gradients_that_it_names(fault: GradFault) -> None:
    named = (
        [0] if "of the first" in fault.description else [1, 2] if "but the first" in fault.description else [0, 1, 2]
    )
    assert [*range(3)][fault.which] == named
    if factor := re.search(r"(\d+) % too large", fault.description):
        assert fault.change(np.array([100.0])) == pytest.approx(100 + int(factor[1]))


@pytest.mark.engines
@pytest.mark.parametrize(
    ("test", "let_through"),
    [
        (compares_shapes, ALL),
        (compares_loosely, {"scaled-1.01", "scaled-1.1", "rounded", "detached", "layout", "cotangent"}),
        (calls_gradcheck, {"rounded", "detached", "layout"}),
        (calls_gradgradcheck, ALL - {"rounded", "detached"}),
        (calls_check_gradients, {"detached"}),
        (calls_check_gradients_twice, set()),
    ],
)
def test_a_fault_is_let_through_by_tests_that_cannot_see_it(
    plant: Callable[..., Any], test: Callable[[Any], None], let_through: set[str]
) -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]")
    found = set()
    for fault in FAULTS:
        module, _ = plant(PRODUCT, "Product", fault.name)
        if passes(lambda module=module: test(module)):  # type: ignore[misc]
            found.add(fault.name)
    if test in {calls_check_gradients, calls_check_gradients_twice}:
        found -= {"layout"}  # seen if incoming gradients of other layouts are tried
    assert found == let_through


@pytest.mark.engines
def test_without_a_fault_the_gradient_is_right_and_calls_are_counted(plant: Callable[..., Any]) -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]")
    module, log = plant(PRODUCT, "product")
    calls_gradcheck(module)
    assert log.lines[:2] == ["imported", f"kind {TORCH}"]
    assert set(log.lines[2:]) == {"called 2"}


@pytest.mark.engines
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("scaled-1.01", [[1.01, 2.02], [3.03, 4.04]]),
        ("scaled-1.1", [[1.1, 2.2], [3.3, 4.4]]),
        ("zeros", [[0, 0], [0, 0]]),
        ("sign", [[-1, -2], [-3, -4]]),
        ("transposed", [[1, 3], [2, 4]]),
        ("row", [[1, 2], [0, 0]]),
        ("entry", [[1, 2], [3, 8]]),
        ("dropped", [[1, 2], [3, 4]]),
        ("detached", [[1, 2], [3, 4]]),
        ("rounded", [[1, 2], [3, 4]]),
        ("layout", [[1, 3], [2, 4]]),
        ("cotangent", [[1, 1], [1, 1]]),
    ],
)
def test_a_fault_changes_the_gradient_as_it_is_described(
    plant: Callable[..., Any], fault: str, expected: list[list[float]]
) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    identity = PRODUCT.replace("x @ weight", "x * 1").replace(
        "cotangent @ weight.T, x.T @ cotangent", "cotangent, None"
    )
    module, log = plant(identity, "Product", fault)
    x = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    cotangent = torch.tensor([[1, 3], [2, 4]], dtype=torch.float64).T
    module.product(x, None).backward(cotangent)
    assert np.allclose(x.grad.numpy(), expected, rtol=1e-12)
    assert ("changed" in log.lines) is (x.grad.tolist() != [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("dtype", "value", "rounded"),
    [("float64", 1 + 2**-24, 1), ("float32", 1 + 2**-11, 1), ("complex128", 1j * (1 + 2**-24), 1j)],
)
def test_gradients_of_numpy_are_rounded_to_the_next_lower_precision(
    plant: Callable[..., Any], dtype: str, value: complex, rounded: complex
) -> None:
    module, _ = plant("def gradient(x): return {'x': (x, None)}", "gradient", "rounded")
    gradient, _ = module.gradient(np.full(2, value, dtype))["x"]
    assert gradient.dtype == dtype
    assert gradient.tolist() == [rounded, rounded]


@pytest.mark.parametrize(("name", "shape"), [("transposed", (3,)), ("row", ()), ("entry", (2, 1, 2)), ("row", (0, 2))])
def test_arrays_of_any_shape_keep_it(plant: Callable[..., Any], name: str, shape: tuple[int, ...]) -> None:
    module, log = plant("def gradient(x): return [x]", "gradient", name)
    (gradient,) = module.gradient(np.arange(np.prod(shape), dtype=float).reshape(shape) + 1)
    assert gradient.shape == shape
    assert ("changed" in log.lines) is bool(np.prod(shape))


@pytest.mark.engines
def test_a_tensor_that_is_not_contiguous_is_read_in_the_order_of_its_memory() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    memory = torch.arange(12.0)
    assert in_order_of_memory(memory.reshape(3, 4).T[1:]).tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert in_order_of_memory(memory[::3]).tolist() == [0, 1, 2, 3]
    assert in_order_of_memory(torch.ones(()).expand(2, 2)).tolist() == [[1, 1], [1, 1]]


@pytest.mark.engines
def test_other_kinds_of_differentiable_functions_of_torch_are_recognized(plant: Callable[..., Any]) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    once = PRODUCT.replace("    @staticmethod\n    def backward", "    @staticmethod\n    @once\n    def backward")
    once = f"from torch.autograd.function import once_differentiable as once\n{once}"
    assert plant(once, "Product")[1].lines[1] == f"kind {ONCE}"
    operator = """
import torch

@torch.library.custom_op("refgrad_tests::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    return x**3

def setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)

def backward(ctx, cotangent):
    return 3 * ctx.saved_tensors[0] ** 2 * cotangent

cube.register_autograd(backward, setup_context=setup)
"""
    module, log = plant(operator, "cube", "sign")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    module.cube(x).sum().backward()
    assert (log.lines[1], x.grad.tolist()) == (f"kind {OPERATOR}", [-3, -12])


@pytest.mark.engines
def test_a_custom_vjp_of_jax_gets_the_fault_also_under_jit(plant: Callable[..., Any]) -> None:
    jax = pytest.importorskip("jax", reason="needs refgrad[jax]")
    source = """
import jax

@jax.jit
@jax.custom_vjp
def cube(x, scale):
    return scale["by"] * x**3

def forward(x, scale):
    return cube(x, scale), (x, scale)

def backward(saved, cotangent):
    x, scale = saved
    return 3 * scale["by"] * x**2 * cotangent, {"by": (x**3 * cotangent).sum()}

cube.__wrapped__.defvjp(forward, backward)
"""
    x, scale = jax.numpy.array([1.0, 2.0]), {"by": jax.numpy.array(1.0)}
    expected: dict[str, tuple[list[float], float]] = {
        "": ([3, 12], 9),
        "scaled-1.1": ([3.3, 13.2], 9.9),
        "transposed": ([12, 3], 9),
        "row": ([3, 0], 9),
        "entry": ([3, 24], 9),
        "dropped": ([3, 12], 0),
        "detached": ([3, 12], 9),
        "cotangent": ([3, 12], 9),
    }
    for fault, (of_x, of_scale) in expected.items():
        module, log = plant(source, "cube", fault)
        derivative = jax.grad(lambda *arguments, module=module: module.cube(*arguments).sum(), (0, 1))
        gradient, of = derivative(x, scale)
        assert log.lines[1] == f"kind {JAX}"
        assert np.allclose([*gradient.tolist(), of["by"]], [*of_x, of_scale]), fault


def test_a_method_that_returns_gradients_stays_a_method(plant: Callable[..., Any]) -> None:
    source = """
class Layer:
    def backward(self, x):
        return x

    @staticmethod
    def static(x):
        return x
"""
    module, log = plant(source, "Layer.backward", "sign")
    assert log.lines == ["imported", f"kind {PLAIN}"]
    assert module.Layer().backward(np.ones(2)).tolist() == [-1, -1]
    module, _ = plant(source, "Layer.static", "sign")
    assert module.Layer().static(np.ones(2)).tolist() == [-1, -1]


@pytest.mark.parametrize("attribute", ["absent", "absent.backward", "Layer", "number"])
def test_what_is_no_function_is_left_as_it_is(plant: Callable[..., Any], attribute: str) -> None:
    _, log = plant("class Layer: pass\nnumber = 1", attribute, "sign")
    assert log.lines == ["imported"]


def test_the_next_sitecustomize_runs_too_and_any_loader_plants_the_fault(tmp_path: Path) -> None:
    planted, other = tmp_path / "planted", tmp_path / "other"
    planted.mkdir()
    other.mkdir()
    (planted / "sitecustomize.py").write_text(Path(injection.__file__).read_text())
    (tmp_path / "log").touch()
    (other / "sitecustomize.py").write_text("print('other')")
    (other / "mine.py").write_text("import numpy as np\ndef gradient(): return np.ones(1)")
    program = "import mine, importlib; print(mine.gradient()); importlib.reload(mine); print(mine.gradient())"
    settings = json.dumps(["mine", "gradient", "sign", str(tmp_path / "log")])
    environment = {"PYTHONPATH": f"{planted}:{other}", injection.SETTINGS: settings}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "other\n[-1.]\n[-1.]\n"


def test_arrays_differ_in_their_values() -> None:
    array = np.array([1.0, np.nan])
    assert not injection.differ(array, array)
    assert not injection.differ(np.ones(2), np.ones(2))
    assert injection.differ(np.ones(2), np.array([1.0, 2.0]))
