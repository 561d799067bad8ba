"""Gradients by a step in an imaginary direction, where there is nothing to cancel.

For an analytic f that is real on the real line, f(x + ih) = f(x) + ih f'(x) + O(h²), so Im f(x + ih) / h is the
derivative up to rounding, whatever small h is (W. Squire and G. Trapp, Using complex variables to estimate derivatives
of real functions, SIAM Review 1998). On a function that is not analytic (abs, maximum, an angle) the answer is silently
wrong; there the step is refused. Whether an operator is analytic follows from its row.

The error of each entry is estimated from the computation itself. What a near singularity does shows in a second, larger
step; on the border of a domain (``x ** 1.5`` at 0) f is not analytic at all, and nothing is said. What rounding does
shows in the spread of the same computation with every operation shaken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import NUMPY_FUNCTIONS, evaluate, expanded, keywords
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Apply, Constant, Grad, Jvp, Leaf, Scenario
from refgrad.scenario.rewrite import needed
from tests.interpreter.batched import Batch
from tests.interpreter.complex128 import BatchedComplex128, analytic_expression
from tests.interpreter.complex_array import ComplexArray, Shaking

Contributions = tuple[tuple[str, Constant | None], ...]
Floats = npt.NDArray[np.float64]

STEP = 2.0**-100
"""So small that its square is below the last bit of everything, and exact to divide by."""

LARGER_STEP = 2.0**-70
"""What a singularity at a distance d does to a step h, of the order of (h / d)², is 2⁶⁰ times as large in this one."""

MARGIN = 2.0**30
"""So many imaginary parts around an argument must lie in the domain: beyond, (h / d)² is below 2⁻⁶⁰."""

UNDERFLOW = float(np.finfo(np.float64).tiny) / STEP
"""Slopes below this have imaginary parts that are flushed or lose bits."""

REPETITIONS = 8
SPREAD_SAFETY = 4.0
"""Times the largest of the deviations under shaking, each of which is off by more than any operation is."""

BATCH_BYTES = 2**20


class ComplexStepRefusedError(ValueError):
    """An operator between a leaf and the output is not analytic; the message names the operator and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """The derivatives by a leaf's entries, in the leaf's shape, with an error estimate for each.

    The error is infinite where nothing can be told: on the border of a domain, or where numbers are not finite.
    """

    value: Floats
    error: Floats


def complex_step(scenario: Scenario, contributions: Contributions) -> dict[str, Slopes]:
    """Differentiate the sum of seed · output over the contributions with respect to every leaf that requires grad.

    Raises ComplexStepRefusedError where an operator on the way is not analytic, and ScenarioEvaluationError where
    shapes do not fit.
    """
    path = Scenario(needed(expanded(scenario).steps, {output for output, _ in contributions}))
    refuse_what_is_not_analytic(path)
    with np.errstate(all="ignore"):
        return {
            leaf.name: _of_leaf(path, contributions, leaf)
            if leaf in path.leaves
            else Slopes(np.zeros(leaf.value.shape), np.zeros(leaf.value.shape))
            for leaf in scenario.leaves
            if leaf.requires_grad
        }


def refuse_what_is_not_analytic(scenario: Scenario) -> None:
    """Raise ComplexStepRefusedError for the first operator that is not analytic in what varies with a leaf."""
    varying = {leaf.name for leaf in scenario.leaves if leaf.requires_grad}
    for name, step in scenario.definitions.items():
        if isinstance(step, Grad):
            raise ComplexStepRefusedError(f"{name} is a recorded gradient, which has no complex values")
        if isinstance(step, Jvp):
            raise ComplexStepRefusedError(f"{name} is a directional derivative, which has no complex values")
        if isinstance(step, Apply) and varying.intersection(step.uses):
            varying.add(name)
            reason = obstacle(operator_table()[step.operator])
            if reason is not None:
                raise ComplexStepRefusedError(f"{name}: {step.operator} is not analytic: {reason}")


@cache
def obstacle(operator: Operator) -> str | None:
    """Return why an operator is not analytic in its arguments, or None where it is."""
    if not operator.elementwise:
        return "entries are compared with each other" if operator.kinks else None
    if analytic_expression(operator) is not None:
        return None
    assert operator.formula is not None
    return f"its formula is {operator.formula.source!r}"


def _of_leaf(scenario: Scenario, contributions: Contributions, leaf: Leaf) -> Slopes:
    size = leaf.value.size
    slopes, errors = np.zeros(size), np.zeros(size)
    length = max(1, BATCH_BYTES // (16 * REPETITIONS * max(1, *(leaf.value.size for leaf in scenario.leaves))))
    for start in range(0, size, length):
        entries = np.arange(start, min(start + length, size))
        slopes[entries], errors[entries] = _of_entries(scenario, contributions, leaf, entries)
    return Slopes(slopes.reshape(leaf.value.shape), errors.reshape(leaf.value.shape))


def _of_entries(
    scenario: Scenario, contributions: Contributions, leaf: Leaf, entries: npt.NDArray[np.intp]
) -> tuple[Floats, Floats]:
    values = evaluate(scenario, BatchedComplex128({leaf.name: _moved(leaf, entries, STEP)}))
    slopes = _total(values, contributions, entries.size).imag / STEP
    larger = evaluate(scenario, BatchedComplex128({leaf.name: _moved(leaf, entries, LARGER_STEP)}))
    truncation = np.abs(_total(larger, contributions, entries.size).imag / LARGER_STEP - slopes)
    rounding = np.abs(_shaken(scenario, contributions, leaf, entries) - slopes).max(axis=0)
    errors = truncation + SPREAD_SAFETY * rounding + 2.0**-52 * np.abs(slopes) + UNDERFLOW
    told = np.isfinite(slopes + errors) & ~_near_a_border(scenario, values, entries.size)
    return slopes, np.where(told, errors, np.inf)


def _shaken(
    scenario: Scenario, contributions: Contributions, leaf: Leaf, entries: npt.NDArray[np.intp]
) -> npt.NDArray[Any]:
    """Return the slopes as often as they are repeated, with every operation off by a little more than rounding.

    The other leaves are repeated too: what depends on them alone is shaken each time anew.
    """
    shaking = Shaking(np.random.default_rng(0))
    repeated = np.tile(entries, REPETITIONS)
    points: dict[str, npt.NDArray[Any]] = {
        other.name: _repeated(other, repeated.size) for other in scenario.leaves if other.value.dtype != "bool"
    }
    points[leaf.name] = _moved(leaf, repeated, STEP)
    values = evaluate(scenario, BatchedComplex128(points, shaking))
    return (_total(values, contributions, repeated.size, shaking).imag / STEP).reshape(REPETITIONS, -1)


def _repeated(leaf: Leaf, points: int) -> Floats:
    array = leaf.value.to_numpy().astype(np.float64)
    return np.repeat(array[..., None], points, axis=-1)


def _moved(leaf: Leaf, entries: npt.NDArray[np.intp], step: float) -> npt.NDArray[np.complex128]:
    """Return the leaf as often as there are entries, one of which has moved in each."""
    points = _repeated(leaf, entries.size).astype(np.complex128)
    points.reshape(-1, entries.size)[entries, np.arange(entries.size)] += 1j * step
    return points


def _total(
    values: Mapping[str, Batch], contributions: Contributions, points: int, shaking: Shaking | None = None
) -> npt.NDArray[np.complex128]:
    total: npt.NDArray[Any] = ComplexArray.of(np.zeros(points, dtype=np.complex128), shaking)
    for output, seed in contributions:
        array = ComplexArray.of(values[output].stretched(points).reshape(-1, points), shaking)
        weights = np.ones(len(array)) if seed is None else seed.to_numpy().astype(np.float64).ravel()
        total = total + weights @ array
    return np.asarray(total)


def _near_a_border(scenario: Scenario, values: Mapping[str, Batch], points: int) -> npt.NDArray[np.bool_]:
    """Whether an argument of an operator, moved by ``MARGIN`` of its imaginary parts, is outside of the domain."""
    near = np.zeros(points, dtype=bool)
    for step in scenario.applications:
        holds = _domain(operator_table()[step.operator])
        arguments = [values[name] for name in step.arguments]
        if holds is not None and any(argument.points is not None for argument in arguments):
            attributes = operator_table()[step.operator].bind(keywords(step))
            for moved in _around([argument.stretched(points) for argument in arguments]):
                inside = np.asarray(holds(*moved, **attributes))
                near |= ~np.all(inside, axis=tuple(range(inside.ndim - 1)))
    return near


def _around(arrays: list[npt.NDArray[Any]]) -> Iterator[list[npt.NDArray[Any]]]:
    """Yield the real parts of an operator's arguments, one of them moved at a time."""
    reals = [np.real(array) for array in arrays]
    for position, array in enumerate(arrays):
        for sign in (1.0, -1.0):
            yield [*reals[:position], reals[position] + sign * MARGIN * np.imag(array), *reals[position + 1 :]]


@cache
def _domain(operator: Operator) -> Callable[..., Any] | None:
    """Compile the domain of an elementwise operator to a function of real arrays."""
    if operator.domain is None or not operator.elementwise:
        return None
    return operator.domain.function((*operator.argument_names, *operator.attribute_names), NUMPY_FUNCTIONS)
