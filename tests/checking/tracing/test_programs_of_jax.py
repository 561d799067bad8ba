"""Programs of JAX, written down by hand: without JAX, they are recorded as NumPy computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from refgrad.checking.libraries.jax_arrays import JaxArrays
from refgrad.checking.libraries.trees import Kind
from refgrad.checking.tracing.jax_program import JaxProgram, has_kink
from refgrad.checking.tracing.recorder import Recorder, Untraceable

X, Y = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -1.0]]), np.array([[1.0, 2.0, 4.0], [0.5, -3.0, 8.0]])
STACK, OTHERS = np.arange(24.0).reshape(2, 3, 4) / 8, np.arange(40.0).reshape(2, 4, 5) - 7
TO_EVEN, AWAY = SimpleNamespace(name="TO_NEAREST_EVEN"), SimpleNamespace(name="AWAY_FROM_ZERO")

CALLS: Mapping[str, tuple[str, tuple[Any, ...], Mapping[str, Any], Any]] = {
    "clamp": ("clamp", (-1.0, X, 1.0), {}, np.clip(X, -1, 1)),
    "sum from the start": ("cumsum", (X,), {"axis": 1, "reverse": False}, np.cumsum(X, 1)),
    "sum from the end": ("cumsum", (X,), {"axis": 1, "reverse": True}, np.cumsum(X[:, ::-1], 1)[:, ::-1]),
    "choice of entries": ("select_n", (X > 0, X, Y), {}, np.where(X > 0, Y, X)),
    "choice of one": ("select_n", (1, X, Y, X * Y), {}, Y),
    "choice of the first": ("select_n", (0, X, Y), {}, X),
    "power": ("integer_pow", (X,), {"y": -2}, X**-2),
    "power of an array": ("pow", (X, np.array([3.0])), {}, X**3),
    "row": ("broadcast_in_dim", (X[0],), {"shape": (2, 3), "broadcast_dimensions": (1,)}, np.stack([X[0], X[0]])),
    "column": ("broadcast_in_dim", (X[:, 0],), {"shape": (2, 3), "broadcast_dimensions": (0,)}, X[:, :1] + np.zeros(3)),
    "matrices": ("dot_general", (X, Y), {"dimension_numbers": (((1,), (1,)), ((), ()))}, X @ Y.T),
    "columns": ("dot_general", (X, Y), {"dimension_numbers": (((0,), (0,)), ((), ()))}, X.T @ Y),
    "stacks": ("dot_general", (STACK, OTHERS), {"dimension_numbers": (((2,), (1,)), ((0,), (0,)))}, STACK @ OTHERS),
    "inner": ("dot_general", (X, Y), {"dimension_numbers": (((0, 1), (0, 1)), ((), ()))}, np.sum(X * Y)),
    "rounded": ("round", (X,), {"rounding_method": TO_EVEN}, np.round(X)),
    "sum": ("reduce_sum", (X,), {"axes": (1,)}, X.sum(1)),
    "transposed": ("transpose", (X,), {"permutation": (1, 0)}, X.T),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_call_gives_what_numpy_computes(case: str) -> None:
    name, arguments, parameters, expected = CALLS[case]
    recorder = Recorder()
    leaves = [
        recorder.leaf(f"x{k}", each, requires_grad=True) if np.ndim(each) and each.dtype != bool else each
        for k, each in enumerate(arguments)
    ]
    result = recorder.values[JaxProgram(recorder).translate(name, leaves, parameters)]
    assert result.shape == np.shape(expected)
    assert result.tolist() == np.asarray(expected).tolist()


def test_halves_that_are_rounded_away_from_zero_are_not_recorded() -> None:
    with pytest.raises(Untraceable, match="halves away from zero"):
        JaxProgram(Recorder()).translate("round", (X,), {"rounding_method": AWAY})


class Variable:
    """A variable of a program, of float64 unless its dtype is given."""

    def __init__(self, dtype: str = "float64") -> None:
        self.aval = SimpleNamespace(dtype=np.dtype(dtype))


def program(count: int, body: Callable[..., Any], outputs: int = 1, constants: int = 0) -> Any:
    """Return a program of ``count`` inputs whose only equation ``body`` returns for variables and results."""
    variables, results = [Variable() for _ in range(count + constants)], [Variable() for _ in range(outputs)]
    inputs, constvars = variables[constants:], variables[:constants]
    return SimpleNamespace(
        constvars=constvars, invars=inputs, outvars=results, consts=[], eqns=[body(*variables, results)]
    )


def equation(name: str, inputs: list[Any], results: list[Any], bind: Any = None, **parameters: Any) -> Any:
    primitive = SimpleNamespace(name=name, multiple_results=False, bind=bind)
    return SimpleNamespace(primitive=primitive, invars=inputs, outvars=results, params=parameters, effects=())


def ran(called: Any, *operands: Any, constants: tuple[Any, ...] = ()) -> list[Any]:
    """Return the values of the results of a program, of which the arrays among the operands are leaves."""
    recorder = Recorder()
    leaves = [recorder.leaf(f"x{k}", np.asarray(x), requires_grad=True) for k, x in enumerate(operands)]
    results = JaxProgram(recorder).run(called, constants, leaves)
    return [recorder.values[each].tolist() if isinstance(each, str) else np.asarray(each).tolist() for each in results]


TIMES = program(2, lambda x, y, out: equation("mul", [x, y], out))
RUNNING = SimpleNamespace(constvars=[], invars=TIMES.invars, outvars=2 * TIMES.outvars, eqns=TIMES.eqns)


@pytest.mark.parametrize(("reverse", "rows"), [(False, [1.0, 3.0, -6.0]), (True, [-6.0, -6.0, -2.0])])
def test_a_scan_multiplies_row_by_row(*, reverse: bool, rows: list[float]) -> None:
    scan = {"num_consts": 0, "num_carry": 1, "length": 3, "reverse": reverse, "jaxpr": RUNNING}
    called = program(2, lambda start, x, out: equation("scan", [start, x], out, **scan), outputs=2)
    assert ran(called, 1.0, [1.0, 3.0, -2.0]) == [-6.0, rows]


def test_a_loop_runs_while_its_test_is_true() -> None:
    tested = program(1, lambda x, out: equation("lt", [x], out, lambda x: np.less(x, 100)))
    tested.eqns[0].outvars[0].aval.dtype = np.dtype(bool)
    loop = {"cond_nconsts": 0, "body_nconsts": 1, "cond_jaxpr": tested, "body_jaxpr": TIMES}
    assert ran(program(2, lambda y, x, out: equation("while", [y, x], out, **loop)), 3.0, 2.0) == [162.0]


def test_a_program_has_constants_and_literals_and_runs_others() -> None:
    two = SimpleNamespace(val=2.0, aval=SimpleNamespace(dtype=np.dtype(float)))
    inner = program(1, lambda x, out: equation("mul", [x, two], out))
    assert ran(program(1, lambda x, out: equation("jit", [x], out, jaxpr=inner)), 4.0) == [8.0]
    added = program(1, lambda constant, x, out: equation("add", [constant, x], out), constants=1)
    assert ran(added, 4.0, constants=(np.array(0.5),)) == [4.5]


@pytest.mark.parametrize("which", [0, 1])
def test_the_branch_that_is_chosen_runs(which: int) -> None:
    branches = (TIMES, program(2, lambda x, y, out: equation("sub", [x, y], out)))
    chosen = SimpleNamespace(val=which, aval=SimpleNamespace(dtype=np.dtype(int)))
    called = program(2, lambda x, y, out: equation("cond", [chosen, x, y], out, branches=branches))
    assert ran(called, 5.0, 2.0) == [(10.0, 3.0)[which]]


def test_entries_move_as_the_primitive_says() -> None:
    called = program(1, lambda x, out: equation("rev", [x], out, lambda x, dimensions: np.flip(x, axis=dimensions)))
    called.eqns[0].params["dimensions"] = 1
    assert ran(called, X) == [X[:, ::-1].tolist()]


def test_effects_and_complex_results_are_not_recorded() -> None:
    printing = program(1, lambda x, out: equation("add", [x, x], out))
    printing.eqns[0].effects = ("prints",)
    with pytest.raises(Untraceable, match="does something beside"):
        ran(printing, 1.0)
    turned = program(1, lambda x, out: equation("mul", [x, x], out))
    turned.eqns[0].outvars[0].aval.dtype = np.dtype(complex)
    with pytest.raises(Untraceable, match="gives complex numbers"):
        ran(turned, 1.0)


@pytest.mark.parametrize(
    ("name", "arrays", "kink"),
    [
        ("max", [X, Y], False),
        ("min", [X, X], True),
        ("abs", [X], False),
        ("sign", [np.zeros(1)], True),
        ("reduce_max", [X], False),
        ("reduce_min", [np.array([[1.0, 2.0, 1.0]])], True),
        ("reduce_max", [np.array([[1.0, 2.0, 1.0]])], False),
        ("mul", [X, X], False),
    ],
)
def test_a_kink_is_a_tie_or_a_zero(name: str, arrays: list[Any], *, kink: bool) -> None:
    assert has_kink(name, {"axes": (1,)}, arrays) is kink


def test_arrays_of_jax_have_a_kind_values_and_one_program_for_each_dtype() -> None:
    listeners: list[Any] = []
    monitoring = SimpleNamespace(register_event_duration_secs_listener=listeners.append)
    traced = SimpleNamespace(Array=np.ndarray, monitoring=monitoring, make_jaxpr=lambda f: lambda *x: (f, x))
    arrays = JaxArrays(SimpleNamespace(namespace={"jax": traced, "jnp": np}))  # type: ignore[arg-type]
    half = np.ones(2, np.float16)
    assert arrays.kind(half).dtype == "float16"
    assert [arrays.values(x).dtype for x in (half, X)] == ["float32", "float64"]
    assert [arrays.is_tensor(x) for x in (half, np.array(["a"]), 1.5)] == [True, False, False]
    assert arrays.make(X, Kind("float64"), requires_grad=True).tolist() == X.tolist()
    (listener,) = listeners
    listener("/jax/core/compile/backend", 1.5)
    listener("/jax/other", 4.0)
    assert arrays.compiled() == 1.5
    subject = SimpleNamespace(
        point=(X,), positions=(0,), kinds=(Kind("float64"),), programs={}, applied="f", make=lambda _, array: array
    )
    assert arrays.program(subject) is arrays.program(subject, (Y,))
    assert arrays.program(subject, (half,)) is not arrays.program(subject)
