"""Does anything but a report come out of a check, whatever the function and its inputs are?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refgrad import check_gradients
from refgrad.checking import CAUSES
from refgrad.checking.gradients import FAILED

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines

Function = Callable[..., Any]

NUMBERS = st.one_of(
    st.floats(-3, 3, width=32),
    st.sampled_from([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e300, 1e-300, 6e4, 1e-8]),
)
DTYPES = st.sampled_from([
    torch.float64, torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex128, torch.complex64,
    torch.int64, torch.bool,
])  # fmt: skip
SHAPES = st.sampled_from([(), (1,), (3,), (2, 2), (0,), (2, 0), (1, 3)])
OTHERS = st.sampled_from([None, "mean", 2, 1.5, 1j, True, object(), [], {}, (), np.float32(2), np.arange(3), range(2)])


@st.composite
def tensors(draw: Any) -> Any:
    """A tensor of any dtype and shape, perhaps a view, perhaps of memory that several entries share."""
    shape = draw(SHAPES)
    dtype = draw(DTYPES)
    with np.errstate(all="ignore"):
        values = np.array(draw(st.lists(NUMBERS, min_size=4, max_size=4)))
        array = np.resize(values, shape)
        array = np.nan_to_num(array) if not (dtype.is_floating_point or dtype.is_complex) else array
        tensor = torch.tensor(array.astype(complex) if dtype.is_complex else array).to(dtype)
    layout = draw(st.sampled_from(["plain", "plain", "transposed", "expanded", "sliced", "sparse"]))
    if layout == "transposed":
        tensor = tensor.mT if tensor.ndim > 1 else tensor
    elif layout == "expanded":
        tensor = tensor.expand(2, *tensor.shape)
    elif layout == "sliced":
        tensor = torch.cat([tensor, tensor])[::2] if tensor.ndim else tensor
    elif layout == "sparse" and tensor.ndim == 2 and dtype == torch.float64:
        tensor = tensor.to_sparse()
    if (dtype.is_floating_point or dtype.is_complex) and draw(st.booleans()):
        tensor = tensor.detach().requires_grad_()
    return tensor


INPUTS = st.one_of(
    tensors(),
    tensors(),
    st.tuples(tensors(), tensors()),
    st.lists(st.one_of(tensors(), tensors(), OTHERS), max_size=3).map(tuple),
    st.dictionaries(st.sampled_from(["a", "b"]), tensors(), max_size=2),
    st.tuples(st.lists(tensors(), max_size=2), OTHERS),
    OTHERS,
)


def leaves(value: Any) -> list[Any]:
    """Return the tensors in some arguments."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list | tuple) else []


def ruled(rule: Function) -> Function:
    """Return the square of a tensor with a rule of its own."""

    class Ruled(torch.autograd.Function):  # type: ignore[misc]
        """A function with any rule."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return rule(cotangents[0], *ctx.saved_tensors)

    return Ruled.apply  # type: ignore[no-any-return]


def raising(*_: Any) -> Any:
    """A function that is not there."""
    raise KeyError("no such thing")


def warning(x: Any) -> Any:
    """A function that warns."""
    warnings.warn("careful", stacklevel=1)
    return x * 2


COUNTS = [0]


def counting(x: Any) -> Any:
    """A function that is another one each time."""
    COUNTS[0] += 1
    return x * COUNTS[0]


ONE: dict[str, Function] = {
    "identity": lambda x: x,
    "square": lambda x: x * x,
    "root": torch.sqrt,
    "logarithm": torch.log,
    "relu": torch.relu,
    "sum": torch.sum,
    "largest": torch.amax,
    "inverse": lambda x: 1 / x,
    "detached": lambda x: x.detach(),
    "half detached": lambda x: x * x.detach(),
    "number": lambda x: x.sum().item(),
    "nothing": lambda _: None,
    "words": lambda _: "words",
    "numpy": lambda x: x.detach().numpy(),
    "several": lambda x: (x, [x.exp(), {"a": x.sum()}], None, 3),
    "integers": lambda x: x.long(),
    "rounded": torch.round,
    "constant": lambda _: torch.ones(2),
    "in place": lambda x: x.mul_(2),
    "written": lambda x: x.detach().add_(1),
    "noise": lambda x: x + torch.rand_like(x),
    "noise of numpy": lambda x: x * np.random.rand(),  # noqa: NPY002 (as people do)
    "float32 inside": lambda x: x.float().exp().to(x.dtype),
    "gradient inside": lambda x: torch.autograd.grad((x**3).sum(), x, create_graph=True)[0],
    "no_grad": torch.no_grad()(lambda x: x * 2),
    "matrix": lambda x: x @ x,
    "inverse matrix": torch.linalg.inv,
    "sorted": lambda x: x.sort(),
    "complex": lambda x: torch.view_as_real(torch.fft.fft(x)),
    "sparse": lambda x: x.to_sparse(),
    "raises": raising,
    "warns": warning,
    "counts": counting,
    "empty": lambda x: x[:0],
    "steps": lambda x: (x * 8).floor() / 8,
    "generator": lambda x: (part for part in (x, x)),
    "no cotangent": ruled(lambda _, x: 2 * x),
    "nothing back": ruled(lambda *_: None),
    "another shape": ruled(lambda g, _: g.sum()),
    "too many": ruled(lambda g, _: (g, g)),
    "not a number": ruled(lambda g, _: g * np.nan),
    "raises back": ruled(raising),
    "words back": ruled(lambda *_: "words"),
    "writes back": ruled(lambda g, x: g.mul_(2 * x)),
    "writes to the saved": ruled(lambda g, x: x.data.mul_(2) * g),
    "counts back": ruled(lambda g, _: counting(g)),
    "of a module": lambda x: torch.nn.Linear(x.shape[-1], 2, dtype=x.dtype)(x),
}  # fmt: skip
"""Functions of one tensor, which other inputs do not take part in."""

OPTIONS = st.fixed_dictionaries(
    {"budget": st.sampled_from([0.5, 0.5, 0.0])},
    optional={
        "method": st.sampled_from(["auto", "differences"]),
        "order": st.sampled_from([1, 2]),
        "forward": st.booleans(),
        "batched": st.booleans(),
        "tolerance": st.sampled_from([0.0, 0.1]),
        "seed": st.integers(0, 3),
    },
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(names=st.lists(st.sampled_from(sorted(ONE)), min_size=1, max_size=2), inputs=INPUTS, options=OPTIONS)
def test_nothing_but_a_report_comes_out(names: list[str], inputs: Any, options: Any) -> None:
    def function(*arguments: Any) -> Any:
        found = leaves(arguments)
        result = found[-1] if found else arguments
        for name in names:
            result = ONE[name](result)
        return result

    with warnings.catch_warnings(action="error"):
        report = check_gradients(function, inputs, raise_exception=False, **options)
        text = str(report)
    assert report.outcome in {"right", "wrong", "inconclusive"}
    assert bool(report) == (report.outcome == "right")
    assert (report.cause in CAUSES) == (report.outcome == "inconclusive")
    assert text
    assert not text.startswith(FAILED)
    assert (report.discrepancy is None) or report.discrepancy.failing
