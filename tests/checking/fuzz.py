"""What a fuzz test of any library draws, and what must hold of every report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from refgrad import check_gradients
from refgrad.checking import CAUSES, FAILED

Function = Callable[..., Any]

NUMBERS = st.one_of(
    st.floats(-3, 3, width=32),
    st.sampled_from([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e300, 1e-300, 6e4, 1e-8]),
)
SHAPES = st.sampled_from([(), (1,), (3,), (2, 2), (0,), (2, 0), (1, 3)])
OTHERS = st.sampled_from([
    None, "mean", 2, 1.5, 1j, True, object(), [], {}, (), np.float32(2), np.arange(3), range(2), memoryview(b"abc"),
    np.array([object()]), np.array(["mean"]), np.array("2026-11-24", "M8[D]"), np.zeros(1, "f8, i4"), np.str_("mean"),
])  # fmt: skip

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

SETTINGS = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def arrays(draw: Any, dtypes: st.SearchStrategy[Any]) -> Any:
    """Draw an array of numpy of any shape."""
    shape, dtype = draw(SHAPES), np.dtype(draw(dtypes))
    with np.errstate(all="ignore"):
        array = np.resize(np.array(draw(st.lists(NUMBERS, min_size=4, max_size=4))), shape)
        return (array if dtype.kind in "fcV" else np.nan_to_num(array)).astype(dtype)


def inputs_of(tensors: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw what a function may be given: tensors, containers of some, and what is no tensor."""
    return st.one_of(
        tensors,
        tensors,
        st.tuples(tensors, tensors),
        st.lists(st.one_of(tensors, tensors, OTHERS), max_size=3).map(tuple),
        st.dictionaries(st.sampled_from(["a", "b"]), tensors, max_size=2),
        st.tuples(st.lists(tensors, max_size=2), OTHERS),
        OTHERS,
    )


def names_of(functions: Mapping[str, Function]) -> st.SearchStrategy[list[str]]:
    """Draw the names of one or two functions, each of which takes what the one before returns."""
    return st.lists(st.sampled_from(sorted(functions)), min_size=1, max_size=2)


def raising(*_: Any) -> Any:
    """A function that is not there."""
    raise KeyError("no such thing")


def warning(x: Any) -> Any:
    """A function that warns."""
    warnings.warn("careful", stacklevel=1)
    return x * 2


def objects(x: Any) -> Any:
    """A function that returns an array that holds no numbers."""
    return np.array([x.shape, {}], dtype=object)


COUNTS = [0]


def counting(x: Any) -> Any:
    """A function that is another one each time."""
    COUNTS[0] += 1
    return x * COUNTS[0]


def composed(functions: Mapping[str, Function], names: list[str], is_tensor: Callable[[Any], bool]) -> Function:
    """Return the composition of some functions, of the last tensor that there is."""

    def leaves(value: Any) -> list[Any]:
        if is_tensor(value):
            return [value]
        if isinstance(value, dict):
            return leaves(list(value.values()))
        return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list | tuple) else []

    def function(*arguments: Any) -> Any:
        found = leaves(arguments)
        result = found[-1] if found else arguments
        for name in names:
            result = functions[name](result)
        return result

    return function


def assert_only_a_report(function: Function, inputs: Any, engine: str, options: Mapping[str, Any]) -> None:
    """Check a function: no warning, no exception and no mistake of the check itself may come out."""
    with warnings.catch_warnings(action="error"):
        report = check_gradients(function, inputs, engine, raise_exception=False, **options)
        text = str(report)
    assert report.outcome in {"right", "wrong", "inconclusive"}
    assert bool(report) == (report.outcome == "right")
    assert (report.cause in CAUSES) == (report.outcome == "inconclusive")
    assert text
    assert not text.startswith(FAILED), report.raised
    assert (report.discrepancy is None) or report.discrepancy.failing
