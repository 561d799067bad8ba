"""A quick test of a whole gradient along one random direction, in float64. If it passes, nothing more is asked.

One forward sweep of dual numbers (a value and its derivative along a direction), whole arrays at a time, costs a small
part of a certified gradient. It can only pass: what it does not find right is judged entry by entry in balls, so it
raises no false alarm.

The direction weighs each entry by a random number over the claimed gradient itself (or more, for an entry that is
small among its neighbours), so that each entry's relative error counts alike, and the sum is right to within ``T``. An
error in a single entry is never missed if it is relatively larger than ``missed_below``, whatever the entry's size.
Where several entries are wrong, their errors can cancel: given all other random numbers, the sum falls into the
interval that passes with probability at most 1.5 times ``missed_below`` / e, for the largest relative error e.

T is derived: each of the n terms of the sum, which are no larger than 2, is rounded in each operation, once on the way
forward and once on the way back. Roundings add up like random steps (Higham and Mary, A new approach to probabilistic
rounding error analysis, SIAM J. Sci. Comput. 2019); the sum may be off by ``ALLOWANCE`` standard deviations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import NUMPY_FUNCTIONS, numpy_forward
from refgrad.operators import Operator
from refgrad.operators.differentiation import differentiate
from refgrad.oracles.judgement.judgement import ALLOWANCE
from refgrad.scenario import Leaf
from refgrad.scenario.formats import FORMATS

Array = npt.NDArray[Any]
Contributions = Sequence[tuple[str, Array | None]]

FEWEST_MISSED = 8.0
"""What is missed is this many times ``T``."""

LEAST_WEIGHT = 1.5
LARGEST_WEIGHT = 2.0
LEAST_SHARE = 2 / (LEAST_WEIGHT * FEWEST_MISSED)
"""Of a small entry in the sum: a sum that is off by 2 T does not pass."""

HALF = 0.5
SMALL = 0.125
"""Entries smaller than this times their array's root mean square owe that to cancellation, and round accordingly."""

TINY = 2.0**-400
"""A claimed zero is weighed as if it were this small: a derivative that is not zero there cannot hide."""

IMAGINARY = 2.0**-600
"""The scale of tangents that ride through structural functions as imaginary parts: their products vanish."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """The dtype of a computation, and about how many roundings lead to an entry if that is more than its operators.

    A ``large`` one is allowed what the terms of the sum round by, however large they are beside the sum itself: it is
    not certified entry by entry where it does not pass.
    """

    dtype: str = "float64"
    terms: int = 0
    large: bool = False


ROUNDING = Rounding()


class Dual:
    """An array and its derivative along the direction; None where it does not depend on what varies."""

    __slots__ = ("tangent", "value")

    def __init__(self, value: Array, tangent: Array | None) -> None:
        """Pair a value with its tangent."""
        self.value = value
        self.tangent = tangent

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.value.shape


class Duals:
    """The number system of one direction: ``tangents`` gives it for each leaf that varies."""

    def __init__(self, tangents: Mapping[str, Array]) -> None:
        """Move along these tangents, each of its leaf's shape."""
        self.tangents = tangents

    def leaf(self, leaf: Leaf) -> Dual:
        """Return a leaf with its part of the direction."""
        return self.given(leaf.name, leaf.value.to_numpy())

    def given(self, name: str, array: Array) -> Dual:
        """Return what a leaf holds with its part of the direction."""
        return Dual(array if array.dtype == np.bool_ else array.astype(np.float64), self.tangents.get(name))

    def constant(self, array: Array) -> Dual:
        """Return an array that does not vary."""
        return Dual(array, None)

    def apply(self, operator: Operator, arguments: list[Dual], attributes: Mapping[str, Any]) -> Dual:
        """Apply an operator to values and tangents."""
        values = [argument.value for argument in arguments]
        if all(argument.tangent is None for argument in arguments):
            return Dual(np.asarray(numpy_forward(operator)(*values, **attributes)), None)
        if operator.structure is not None:
            return _structural(operator, arguments, attributes)
        value, *partials = _derivative(operator)(*values, **attributes)
        terms = [
            partial * argument.tangent
            for partial, argument in zip(partials, arguments, strict=True)
            if argument.tangent is not None
        ]
        value = np.asarray(value)
        tangent = terms[0] if len(terms) == 1 else sum(terms[1:], terms[0])
        return Dual(value, tangent if tangent.shape == value.shape else np.broadcast_to(tangent, value.shape))


def _structural(operator: Operator, arguments: list[Dual], attributes: Mapping[str, Any]) -> Dual:
    """Run a structural function once, the tangents being imaginary parts too small to meet one another.

    Such functions only move, add, multiply and compare entries, and complex numbers compare by their real parts first.
    """
    joined = [
        argument.value if argument.tangent is None else argument.value + (1j * IMAGINARY) * argument.tangent
        for argument in arguments
    ]
    result = np.asarray(numpy_forward(operator)(*joined, **attributes))
    return Dual(result.real, result.imag / IMAGINARY)


def _choose(condition: Any, then: Any, otherwise: Any) -> tuple[Any, ...]:
    branches = [branch if isinstance(branch, tuple) else branch() for branch in (then, otherwise)]
    return tuple(np.where(condition, a, b) for a, b in zip(*branches, strict=True))


@cache
def _derivative(operator: Operator) -> Any:
    assert operator.formula is not None
    functions = {**NUMPY_FUNCTIONS, "choose": _choose}
    return differentiate(operator.formula, operator.argument_names, operator.attribute_names, functions)


class Evaluable(Protocol):
    """What can be swept: so many ``operations`` on arrays."""

    @property
    def operations(self) -> int:
        """How many operators are applied, none of which is made of others."""

    def evaluated(self, system: Duals) -> Mapping[str, Any]:
        """Return the value of every name."""


class Sweep:
    """One forward sweep along a direction in which each entry of the claimed gradients counts alike."""

    def __init__(self, swept: Evaluable, gradients: Mapping[str, Array], choices: np.random.Generator) -> None:
        """Sweep along a random direction."""
        self.operations = swept.operations
        with np.errstate(all="ignore"):
            self.gradients = {name: np.asarray(gradient, np.float64) for name, gradient in gradients.items()}
            self.weights = {name: _weights(gradient, choices) for name, gradient in self.gradients.items()}
            self.values = swept.evaluated(Duals(self.weights))

    def passes(self, contributions: Contributions, rounding: Rounding) -> bool:
        """Whether the gradients of the sum of seed · output are right along the direction."""
        with np.errstate(all="ignore"):
            truth = sum((_along(self.values[name], seed) for name, seed in contributions), 0.0)
            claimed = sum(float((self.weights[name] * g).sum()) for name, g in self.gradients.items())
            allowed = tolerance(self.operations, sum(g.size for g in self.gradients.values()), rounding)
            if rounding.large:
                norm = math.hypot(*(_norm(self.values[name], seed) for name, seed in contributions))
                allowed += ALLOWANCE * FORMATS[rounding.dtype].unit * math.sqrt(2 * rounding.terms) * norm
            return bool(abs(truth - claimed) <= allowed)

    def rates(self, outputs: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return how fast each entry of the outputs changes along the direction; 1 where it does not."""
        return _rates([self.values[name] for name in outputs])


def slope(swept: Evaluable, direction: Mapping[str, Array], contributions: Iterable[tuple[str, Array | None]]) -> float:
    """Return the slope of the sum of seed · output along a direction; outputs without a seed take no part."""
    with np.errstate(all="ignore"):
        values = swept.evaluated(Duals(direction))
        return sum((_along(values[name], seed) for name, seed in contributions if seed is not None), 0.0)


def row_scales(
    swept: Evaluable, shapes: Mapping[str, tuple[int, ...]], outputs: Sequence[str], choices: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Return how fast each entry of the outputs changes along a random direction; 1 where it does not.

    ``shapes`` are those of what varies.
    """
    with np.errstate(all="ignore"):
        directions = {name: random_direction(shape, choices) for name, shape in shapes.items()}
        values = swept.evaluated(Duals(directions))
        return _rates([values[name] for name in outputs])


def random_direction(shape: tuple[int, ...], choices: np.random.Generator) -> Array:
    """Return random numbers between a half and one, of either sign."""
    drawn = choices.uniform(-HALF, HALF, shape)
    return drawn + np.copysign(HALF, drawn)


def tolerance(operations: int, count: int, rounding: Rounding = ROUNDING) -> float:
    """Return T: how far the sum over ``count`` entries, each about one, may be off."""
    roundings = 2 * max(1, operations, rounding.terms)
    return ALLOWANCE * FORMATS[rounding.dtype].unit * LARGEST_WEIGHT * math.sqrt(count * roundings)


def missed_below(operations: int, count: int, rounding: Rounding = ROUNDING) -> float:
    """Return the relative error from which on a single wrong entry among ``count`` is never missed."""
    return FEWEST_MISSED * tolerance(operations, count, rounding)


def _weights(gradient: Array, choices: np.random.Generator) -> Array:
    """Return random signed weights that make each entry's part of the sum about one, ``LEAST_SHARE`` if it is small."""
    sizes = np.abs(gradient)
    typical = SMALL * math.sqrt(float(np.vdot(gradient, gradient)) / max(gradient.size, 1))
    reference = np.maximum(sizes, np.minimum(typical, sizes / LEAST_SHARE))
    numbers = choices.random(gradient.shape)
    numbers += np.where(numbers < HALF, -LEAST_WEIGHT - HALF, LEAST_WEIGHT - HALF)  # in [-2, -1.5) or [1.5, 2)
    return np.asarray(numbers / np.where(reference == 0, TINY, reference))


def _rates(outputs: Sequence[Dual]) -> npt.NDArray[np.float64]:
    """Return how fast each entry of some outputs changes; 1 where it does not."""
    tangents = [np.zeros(each.shape) if each.tangent is None else each.tangent for each in outputs]
    found = np.abs(tangents[0].ravel() if len(tangents) == 1 else np.concatenate([np.ravel(each) for each in tangents]))
    if found.size and found.min() > 0 and found.max() < np.inf:
        return found
    return np.where(np.isfinite(found) & (found > 0), found, 1.0)


def _along(output: Dual, seed: Array | None) -> float:
    if output.tangent is None:
        return 0.0
    return float((output.tangent if seed is None else output.tangent * seed).sum())


def _norm(output: Dual, seed: Array | None) -> float:
    if output.tangent is None:
        return 0.0
    return float(np.linalg.norm(output.tangent if seed is None else output.tangent * seed))
