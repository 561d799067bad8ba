"""In which scalars does the tape compute: exactly, or as engines round; in numbers, or in series along a direction?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from flint import arb, arb_series

from refgrad.operators import Operator
from refgrad.oracles.ball_functions import precision, true_derivative, usual_derivative
from refgrad.oracles.series_functions import series_precision, series_value, true_series, usual_series

Derivative = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How the tape computes: ``truth`` with the rows' formulas, ``rounding`` the way engines do, leaves inflated.

    ``bits`` is the precision of the balls; with ``rounding`` it is the engine's own (53 for float64, 24 for float32).
    """

    purpose: Literal["truth", "rounding"]
    bits: int

    number: ClassVar[type[Any]] = arb
    """The type of a scalar."""

    def derivative(self, operator: Operator) -> Derivative:
        """Return the scalar function that gives an operator's value and partials."""
        compiled = true_derivative if self.purpose == "truth" else usual_derivative
        return compiled(operator, self.bits)

    def enter(self, number: float) -> Any:
        """Return the ball of a given number: exact, or half an ulp wide in the engine's precision."""
        if self.purpose == "truth" or number == 0:
            return arb(number)
        return arb(number, abs(number) * 2.0**-self.bits)

    def leaf(self, name: str, numbers: list[float]) -> list[Any]:  # noqa: ARG002 (which leaf it is matters to series)
        """Return the scalars of a leaf's entries."""
        return [self.enter(number) for number in numbers]

    def is_finite(self, value: Any) -> bool:
        """Whether a scalar has a value."""
        return bool(value.is_finite())

    def context(self) -> AbstractContextManager[None]:
        """Compute in this precision inside the block."""
        return precision(self.bits)

    def allows_quotients(self) -> bool:
        """Whether derivatives of products may have been found by dividing the product."""
        return False

    def along(self, leaf: str, direction: list[arb]) -> SeriesArithmetic:
        """Return the same in series of length two, in which a leaf moves along a direction, entry by entry."""
        return SeriesArithmetic(self.purpose, self.bits, ((leaf, tuple(direction)),))


@dataclass(frozen=True, slots=True)
class SeriesArithmetic(Arithmetic):
    """The same in power series in t: the leaves in ``directions`` move along them, x + t · direction.

    On the tape the coefficient of t in a cotangent is the derivative of that cotangent along the direction. With
    ``values_only`` nothing but values is found, by FLINT's composition alone, and no tape is needed.
    """

    directions: tuple[tuple[str, tuple[arb, ...]], ...] = ()
    length: int = 2
    values_only: bool = False

    number: ClassVar[type[Any]] = arb_series

    def derivative(self, operator: Operator) -> Derivative:
        """Return the function of series that gives an operator's value and partials."""
        if self.values_only:
            return series_value(operator, self.bits)
        compiled = true_series if self.purpose == "truth" else usual_series
        return compiled(operator, self.bits)

    def enter(self, number: float) -> Any:
        """Return a given number as a constant series."""
        return arb_series([Arithmetic.enter(self, number)])

    def leaf(self, name: str, numbers: list[float]) -> list[Any]:
        """Return a leaf's entries, moving if there is a direction for them."""
        for moving, direction in self.directions:
            if moving == name:
                pairs = zip(numbers, direction, strict=True)
                return [arb_series([Arithmetic.enter(self, number), speed]) for number, speed in pairs]
        return [self.enter(number) for number in numbers]

    def is_finite(self, value: Any) -> bool:
        """Whether the series has a value at t = 0."""
        return bool(value[0].is_finite())

    def allows_quotients(self) -> bool:
        """Whether it matters that derivatives of products may have been found by dividing the product."""
        return self.purpose == "rounding"

    def context(self) -> AbstractContextManager[None]:
        """Compute in this precision and length inside the block."""
        return series_precision(self.bits, self.length)
