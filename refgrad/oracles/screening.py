"""A screen of whole gradients: one forward sweep in float64 along one random direction.

The sweep carries dual numbers (a value and its derivative along the direction), whole arrays at a time, and costs a
small part of a certified gradient. It can only pass a gradient. What does not pass is judged in another way, so the
screen never reports a right gradient as wrong.

The direction weighs each entry by a random number divided by the claimed gradient itself (or by more, for an entry that
is small compared to its array). So the relative errors of all entries count alike, and the sum over the entries is
right to within ``T``. An error in a single entry is never missed if its relative size exceeds ``missed_below``,
whatever the size of the entry. If several entries are wrong, their errors can cancel: given all other random numbers,
the probability that the sum passes is at most 1.5 times ``missed_below`` / e, where e is the largest relative error.

T is derived. Each of the n terms of the sum is at most 2 and is rounded in each operation, once on the way forward and
once on the way back. Roundings add up like random steps (Higham and Mary, A new approach to probabilistic rounding
error analysis, SIAM J. Sci. Comput. 2019), and the sum may be off by ``ALLOWANCE`` standard deviations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import NUMPY_FUNCTIONS, evaluate, expanded, numpy_forward
from refgrad.operators import Operator
from refgrad.operators.differentiation import row_derivative
from refgrad.operators.functions.balls import taken
from refgrad.oracles.judgement import ALLOWANCE
from refgrad.scenario import Leaf, Scenario
from refgrad.scenario.formats import FORMATS

Array = npt.NDArray[Any]
Contributions = Sequence[tuple[str, Array | None]]

FEWEST_MISSED: Final = 8.0
"""Smallest relative error of one entry that is never missed, in multiples of ``T``."""

LEAST_WEIGHT: Final = 1.5
LARGEST_WEIGHT: Final = 2.0
LEAST_SHARE: Final = 2 / (LEAST_WEIGHT * FEWEST_MISSED)
"""Share of a small entry in the sum: a sum that is off by 2 T does not pass."""

HALF: Final = 1 / 2
SMALL: Final = 0.125
"""Fraction of the root mean square of an array below which an entry is small.

Small entries are differences of larger numbers, and have the rounding errors of these.
"""

TINY: Final = 2.0**-400
"""Size by which a claimed zero is weighed, so that a derivative other than zero is seen there."""

IMAGINARY: Final = 2.0**-600
"""Scale of tangents that pass through structural functions as imaginary parts: their products underflow to zero."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """The rounding of a computation.

    ``dtype`` is its precision. ``terms`` is the number of roundings that lead to an entry, if that is more than the
    number of operators. A ``large`` computation is not certified entry by entry, so it is allowed the rounding of the
    terms of the sum even if they are much larger than the sum itself.
    """

    dtype: str = "float64"
    terms: int = 0
    large: bool = False


ROUNDING: Final = Rounding()


@dataclass(slots=True, eq=False)
class Dual:
    """An array and its derivative along the direction, or None if it does not depend on what varies."""

    value: Array
    tangent: Array | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.value.shape


@dataclass(frozen=True, slots=True)
class Duals:
    """The number system of values with tangents along one direction: those of the leaves that vary, in their shapes."""

    tangents: Mapping[str, Array]

    def leaf(self, leaf: Leaf) -> Dual:
        """Return the array of a leaf with its tangent."""
        return self.dual(leaf.name, leaf.value.to_numpy())

    def dual(self, name: str, array: Array) -> Dual:
        """Return the array with the tangent of the leaf ``name``."""
        return Dual(array if array.dtype == np.bool_ else array.astype(np.float64), self.tangents.get(name))

    def constant(self, array: Array) -> Dual:
        """Return an array as a constant."""
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
    """Apply a structural function once, with the tangents as imaginary parts that are too small to interact.

    Such functions only move, add, multiply and compare entries, and complex numbers compare by their real parts first.
    """
    joined = [
        argument.value if argument.tangent is None else argument.value + (1j * IMAGINARY) * argument.tangent
        for argument in arguments
    ]
    result = np.asarray(numpy_forward(operator)(*joined, **attributes))
    return Dual(result.real, result.imag / IMAGINARY)


def _choose(condition: Any, then: Any, otherwise: Any) -> tuple[Any, ...]:
    return tuple(np.where(condition, a, b) for a, b in zip(taken(then), taken(otherwise), strict=True))


DIFFERENTIABLE: Final[Mapping[str, Any]] = MappingProxyType({**NUMPY_FUNCTIONS, "choose": _choose})
"""The number system of numpy arrays for derivatives of formulas."""


@cache
def _derivative(operator: Operator) -> Any:
    return row_derivative(operator, DIFFERENTIABLE)


class Evaluable(Protocol):
    """A computation that can be swept; it applies ``operations`` operators to arrays."""

    @property
    def operations(self) -> int:
        """Number of operators that are applied, with composite ones written out."""

    def evaluated(self, system: Duals) -> Mapping[str, Dual]:
        """Return the value of every name."""


class Expanded:
    """A scenario whose composite operators are written out, so that it can be swept."""

    def __init__(self, scenario: Scenario) -> None:
        """Write out the composite operators. Raises ScenarioEvaluationError if shapes do not fit."""
        self.scenario = expanded(scenario)
        self.operations = len(self.scenario.applications)

    def evaluated(self, system: Duals) -> Mapping[str, Dual]:
        """Return the value of every name."""
        return evaluate(self.scenario, system)

    def terms(self, values: Mapping[str, Dual]) -> int:
        """Return the number of terms that the sums on the way add up, given the value of every name."""
        return sum(
            max(1, *(values[name].value.size // max(1, values[step.name].value.size) for name in step.arguments))
            for step in self.scenario.applications
        )


def weights_by_entry(gradient: Array, choices: np.random.Generator) -> Array:
    """Return random signed weights with which each entry adds about one to the sum, ``LEAST_SHARE`` if it is small."""
    sizes = np.abs(gradient)
    typical = SMALL * math.sqrt(float(np.square(gradient).sum()) / max(gradient.size, 1))
    return _random_weights(np.maximum(sizes, np.minimum(typical, sizes / LEAST_SHARE)), choices)


def weights_by_mean(gradient: Array, choices: np.random.Generator) -> Array:
    """Return weights with which an entry that is smaller than the mean of its array adds as much less to the sum."""
    sizes = np.abs(gradient)
    return _random_weights(np.maximum(sizes, sizes.mean() if sizes.size else 0.0), choices)


def _random_weights(reference: Array, choices: np.random.Generator) -> Array:
    """Return random numbers from -2 to -1.5 or from 1.5 to 2, over ``reference``."""
    numbers = choices.random(reference.shape)
    signed = np.asarray(numbers + np.where(numbers < HALF, -LEAST_WEIGHT - HALF, LEAST_WEIGHT - HALF))
    return signed / np.where(reference == 0, TINY, reference)


class Sweep:
    """A forward sweep along a random direction in which each entry of the claimed gradients counts alike."""

    def __init__(
        self,
        swept: Evaluable,
        gradients: Mapping[str, Array],
        choices: np.random.Generator,
        weigh: Callable[[Array, np.random.Generator], Array] = weights_by_entry,
    ) -> None:
        """Sweep along a random direction."""
        self.operations = swept.operations
        with np.errstate(all="ignore"):
            self.gradients = {name: np.asarray(gradient, np.float64) for name, gradient in gradients.items()}
            self.weights = {name: weigh(gradient, choices) for name, gradient in self.gradients.items()}
            self.values = swept.evaluated(Duals(self.weights))

    def passes(self, contributions: Contributions, rounding: Rounding, explained: float = 0.0) -> bool:
        """Return True if the gradients of the sum of seed · output are right along the direction.

        ``explained`` is an error of the sum that has a known cause beside the rounding of each entry.
        """
        with np.errstate(all="ignore"):
            claimed = sum(float((self.weights[name] * g).sum()) for name, g in self.gradients.items())
            count = sum(int(np.count_nonzero(g)) for g in self.gradients.values())
            allowed = explained + tolerance(self.operations, count, rounding)
            if rounding.large:
                norm = math.hypot(*(_norm(self.values[name], seed) for name, seed in contributions))
                allowed += ALLOWANCE * FORMATS[rounding.dtype].unit * math.sqrt(2 * rounding.terms) * norm
            return bool(abs(_weighted(self.values, contributions) - claimed) <= allowed)

    def change(self, moved: Evaluable, here: Contributions, there: Contributions) -> float:
        """Return how much the slope along the direction differs in a perturbed computation with perturbed seeds."""
        return abs(slope(moved, self.weights, there) - _weighted(self.values, here))

    def rates(self, outputs: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the rate of change of each entry of the outputs along the direction, or 1 if it is zero."""
        return _rates([self.values[name] for name in outputs])


def slope(swept: Evaluable, direction: Mapping[str, Array], contributions: Contributions) -> float:
    """Return the slope of the sum of seed · output along a direction."""
    with np.errstate(all="ignore"):
        return _weighted(swept.evaluated(Duals(direction)), contributions)


def row_scales(
    swept: Evaluable, shapes: Mapping[str, tuple[int, ...]], outputs: Sequence[str], choices: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Return the rate of change of each entry of the outputs along a random direction, or 1 if it is zero.

    ``shapes`` are those of the leaves that vary.
    """
    with np.errstate(all="ignore"):
        directions = {name: random_signed(shape, choices) for name, shape in shapes.items()}
        values = swept.evaluated(Duals(directions))
        return _rates([values[name] for name in outputs])


def random_signed(shape: tuple[int, ...], choices: np.random.Generator, width: float = HALF) -> Array:
    """Return random numbers of random sign, with magnitudes between 1/2 and 1/2 + ``width``."""
    drawn = choices.uniform(-width, width, shape)
    return np.asarray(drawn + np.copysign(HALF, drawn))


def tolerance(operations: int, count: int, rounding: Rounding = ROUNDING) -> float:
    """Return T, the largest error of the sum over ``count`` entries, each of which is about one."""
    roundings = 2 * max(1, operations, rounding.terms)
    return ALLOWANCE * FORMATS[rounding.dtype].unit * LARGEST_WEIGHT * math.sqrt(count * roundings)


def missed_below(operations: int, count: int, rounding: Rounding = ROUNDING) -> float:
    """Return the least relative error with which a single wrong entry among ``count`` is never missed."""
    return FEWEST_MISSED * tolerance(operations, count, rounding)


def _rates(outputs: Sequence[Dual]) -> npt.NDArray[np.float64]:
    tangents = [np.zeros(each.shape) if each.tangent is None else each.tangent for each in outputs]
    rates = np.abs(tangents[0].ravel() if len(tangents) == 1 else np.concatenate([np.ravel(each) for each in tangents]))
    if rates.size and rates.min() > 0 and rates.max() < np.inf:
        return rates
    return np.where(np.isfinite(rates) & (rates > 0), rates, 1.0)


def _weighted(values: Mapping[str, Dual], contributions: Iterable[tuple[str, Array | None]]) -> float:
    """Return the tangent of the sum of seed · output."""
    return sum((float(_moved(values[name], seed).sum()) for name, seed in contributions), 0.0)


def _norm(output: Dual, seed: Array | None) -> float:
    """Return the norm of the tangent of seed · output, without BLAS, whose threads would keep other processors busy."""
    return math.sqrt(float(np.square(_moved(output, seed)).sum()))


def _moved(output: Dual, seed: Array | None) -> Array:
    """Return the tangent of seed · output, entry by entry."""
    if output.tangent is None:
        return np.zeros(1)
    return output.tangent if seed is None else output.tangent * seed
