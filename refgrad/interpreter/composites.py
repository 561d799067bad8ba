"""The steps of a composite operator, applied to arrays.

The composite's function runs once on numpy arrays, and every operator that it calls is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.interpreter.evaluation import numpy_function, refuse_large_result
from refgrad.operators import Operator, operator_table
from refgrad.operators.operator import LARGEST, Composite, refuse_size

MOST_STEPS: Final = 20_000
"""Largest number of steps of a composite operator in a bounded evaluation: about half a second of Python."""

REMEMBERED: Final = 512
"""Number of cached results, enough for those of the scenarios that a check draws before it judges the first one.

It is also the largest number of entries of the operands of a cached application.
"""


@dataclass(slots=True, eq=False)
class InnerArray:
    """An array inside a composite: an input, a constant (both without an operator), or the result of an operator.

    ``unrounded`` is the array of a constant before it was cast to the dtype of the other operands.
    """

    array: npt.NDArray[Any]
    operator: Operator | None = None
    operands: tuple[InnerArray, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    unrounded: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.array.shape


class Notes:
    """The operators of the table as functions of entries; ``entries`` records the results, in the order of the calls.

    Constants have the dtype of the composite's inputs, and numbers that of the operator's other operands, as Python
    numbers have in numpy: float32 stays float32. With ``computed``, composites run the steps that engines use. With
    ``bounded``, a composite that takes too many steps or too much memory raises ValueError.
    """

    def __init__(self, *inputs: InnerArray, computed: bool = False, bounded: bool = False) -> None:
        """Create an empty record."""
        self.entries: list[InnerArray] = []
        self.size = 0
        self.inputs = inputs
        self.computed = computed
        self.bounded = bounded

    def __getattr__(self, name: str) -> Callable[..., InnerArray]:
        """Return the operator of that name. Raises AttributeError if the table has none."""
        operator = operator_table().get(name)
        if operator is None:
            raise AttributeError(f"there is no operator {name!r}")
        return partial(self.apply, operator)

    def constant(self, array: Any) -> InnerArray:
        """Record an array that gets no gradient."""
        return self._constant(array, _floating(self.inputs))

    def _constant(self, array: Any, dtype: np.dtype[Any] | None) -> InnerArray:
        array = np.asarray(array)
        unrounded = array if array.dtype == np.bool_ else array.astype(np.float64)
        narrow = dtype is not None and array.dtype != np.bool_
        return self._noted(InnerArray(unrounded.astype(dtype) if narrow else unrounded, unrounded=unrounded))

    def _noted(self, entry: InnerArray) -> InnerArray:
        self.entries.append(entry)
        if self.bounded:
            self.size += entry.array.size
            refuse_size(self.size, 2 * LARGEST)
            if len(self.entries) > MOST_STEPS:
                raise ValueError(f"more than {MOST_STEPS:,} steps are too many")
        return entry

    def apply(self, operator: Operator, *operands: Any, **attributes: Any) -> InnerArray:
        """Record and return the result of an operator; of a composite, its steps are recorded."""
        entries = self._entries(operands)
        bound = operator.bind(attributes)
        if operator.composite is not None:
            return self.steps(operator.composite)(self, *entries, **bound)  # type: ignore[no-any-return]
        if self.bounded:
            refuse_large_result(operator, [entry.array for entry in entries], bound)
        array = np.asarray(numpy_function(operator)(*(entry.array for entry in entries), **bound))
        return self._noted(InnerArray(array, operator, entries, bound))

    def steps(self, composite: Composite) -> Callable[..., Any]:
        """Return the function that runs a composite's steps."""
        return composite.computed if self.computed and composite.computed is not None else composite.forward

    def _entries(self, operands: tuple[Any, ...]) -> tuple[InnerArray, ...]:
        arrays = [x for x in operands if isinstance(x, InnerArray)]
        if len(arrays) == len(operands):
            return operands
        dtype = _floating(arrays) or _floating(self.inputs)
        return tuple(x if isinstance(x, InnerArray) else self._constant(x, dtype) for x in operands)


def _floating(entries: Iterable[InnerArray]) -> np.dtype[Any] | None:
    """Return the floating dtype that the entries promote to, or None if none of them is floating."""
    dtypes = [entry.array.dtype for entry in entries if entry.array.dtype.kind == "f"]
    return np.result_type(*dtypes) if dtypes else None


@dataclass(frozen=True, slots=True, eq=False)
class Noted:
    """An operator applied to arrays: its inputs, and the entries that the result depends on, the result last."""

    inputs: tuple[InnerArray, ...]
    entries: tuple[InnerArray, ...]

    @property
    def result(self) -> InnerArray:
        """Result of the operator."""
        return self.entries[-1]


def noted(
    operator: Operator,
    arrays: Sequence[npt.NDArray[Any]],
    attributes: Mapping[str, Any],
    *,
    computed: bool = False,
    bounded: bool = False,
) -> Noted:
    """Run an operator on arrays and return the entries that its result depends on: its own, or those of a composite.

    ``attributes`` holds a value for every attribute; ``computed`` and ``bounded`` are the options of :class:`Notes`.
    Raises ValueError if shapes or attributes do not fit, IndexError if an index or an axis does not.
    """
    inputs = tuple(map(InnerArray, arrays))
    notes = Notes(*inputs, computed=computed, bounded=bounded)
    try:
        with np.errstate(all="ignore"):  # NaN and infinities are ordinary values here
            result = notes.apply(operator, *inputs, **attributes)
    except ArithmeticError as error:
        raise ValueError(f"the attributes {dict(attributes)} do not fit: {error}") from error
    if result.operator is None:
        result = notes.reshape(result, shape=result.shape)
    needed, kept = {id(result)}, []
    for entry in reversed(notes.entries):
        if id(entry) in needed:
            needed.update(map(id, entry.operands))
            kept.append(entry)
    return Noted(inputs, tuple(reversed(kept)))


@dataclass(frozen=True, slots=True)
class Application:
    """An operator applied to arrays. Two are equal if all bits of the arrays and attributes are: -0.0 is not 0.0."""

    operator: Operator
    contents: tuple[tuple[np.dtype[Any], tuple[int, ...], bytes], ...]
    attributes_text: str
    attributes: Mapping[str, Any] = field(compare=False)


def noted_once(operator: Operator, arrays: Sequence[npt.NDArray[Any]], attributes: Mapping[str, Any]) -> Noted:
    """Run an operator on arrays as :func:`noted` does without options, and cache the result unless they are large."""
    if sum(array.size for array in arrays) > REMEMBERED:
        return noted(operator, arrays, attributes)
    contents = tuple((array.dtype, array.shape, array.tobytes()) for array in arrays)
    return _noted_once(Application(operator, contents, repr(attributes), attributes))


@lru_cache(maxsize=REMEMBERED)
def _noted_once(application: Application) -> Noted:
    arrays = [np.frombuffer(data, dtype).reshape(shape) for dtype, shape, data in application.contents]
    return noted(application.operator, arrays, application.attributes)


def composed(
    operator: Operator, arrays: Sequence[npt.NDArray[Any]], attributes: Mapping[str, Any]
) -> tuple[npt.NDArray[Any], Noted]:
    """Return the result of a composite, and its ``forward`` steps.

    If the operator has stress values and these steps give a result that is not finite, the ``computed`` steps replace
    it, provided that theirs is finite.
    """
    trace = noted_once(operator, arrays, attributes)
    result = trace.result.array
    if not operator.stress_values or np.isfinite(result).all():
        return result, trace
    by_other_steps = noted(operator, arrays, attributes, computed=True).result.array
    return (by_other_steps if np.isfinite(by_other_steps).all() else result), trace


@cache
def numpy_forward(operator: Operator) -> Callable[..., Any]:
    """Return an operator as a function of numpy arrays, with its attributes as keywords."""
    if operator.composite is None:
        return numpy_function(operator)
    return lambda *arrays, **attributes: composed(operator, list(map(np.asarray, arrays)), attributes)[0]
