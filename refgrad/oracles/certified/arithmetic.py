"""The scalars of the tape: exact, or rounded as engines round; numbers, or series along directions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import isinf
from typing import Any, ClassVar, Literal

from flint import arb, arb_series

from refgrad.operators import Operator
from refgrad.operators.functions.balls import precision
from refgrad.operators.functions.series import series_precision
from refgrad.oracles.certified.ball_derivatives import true_derivative, usual_derivative
from refgrad.oracles.certified.infinitesimals import assembled, length, parts
from refgrad.oracles.certified.series_derivatives import true_series
from refgrad.oracles.certified.series_rounding import usual_series

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
        """Return the ball of a given number: 0 and infinities exact, others half an ulp wide where engines round."""
        if self.purpose == "truth" or number == 0 or isinf(number):
            return arb(number)
        return arb(number, abs(number) * 2.0**-self.bits)

    def leaf(self, name: str, numbers: list[float]) -> list[Any]:  # noqa: ARG002 (which leaf it is matters to series)
        """Return the scalars of a leaf's entries."""
        return [self.enter(number) for number in numbers]

    def is_finite(self, value: Any) -> bool:
        """Whether a scalar has a value."""
        return bool(value.is_finite())

    def still(self, value: Any) -> Any:
        """Return a scalar that moves along no direction."""
        return value

    def context(self) -> AbstractContextManager[None]:
        """Compute in this precision inside the block."""
        return precision(self.bits)

    def allows_quotients(self) -> bool:
        """Whether derivatives of products may have been found by dividing the product."""
        return False

    def along(self, leaf: str, direction: list[Any]) -> SeriesArithmetic:
        """Return the same with one more infinitesimal, in which a leaf moves along a direction, entry by entry."""
        return SeriesArithmetic(self.purpose, self.bits, ((leaf, tuple(parts(speed, 0) for speed in direction)),))


@dataclass(frozen=True, slots=True)
class SeriesArithmetic(Arithmetic):
    """The same with infinitesimals, held by power series: along each of ``directions`` a leaf moves by one of them.

    A direction has, for each entry of its leaf, the coefficients of a number with the infinitesimals before it. On the
    tape the coefficient of an infinitesimal in a cotangent is the derivative of that cotangent along its direction.
    """

    directions: tuple[tuple[str, tuple[tuple[arb, ...], ...]], ...] = ()

    number: ClassVar[type[Any]] = arb_series

    @property
    def order(self) -> int:
        """How many infinitesimals there are."""
        return len(self.directions)

    def derivative(self, operator: Operator) -> Derivative:
        """Return the function of series that gives an operator's value and partials."""
        if self.purpose == "truth":
            return true_series(operator, self.bits)
        return usual_series(operator, self.bits, self.order)

    def enter(self, number: float) -> Any:
        """Return a given number as a constant series."""
        return arb_series([Arithmetic.enter(self, number)])

    def leaf(self, name: str, numbers: list[float]) -> list[Any]:
        """Return a leaf's entries, moving in the directions that there are for them."""
        speeds = [(2**place, direction) for place, (leaf, direction) in enumerate(self.directions) if leaf == name]
        if not speeds:
            return [self.enter(number) for number in numbers]
        entries = []
        for entry, number in enumerate(numbers):
            coefficients: list[Any] = [Arithmetic.enter(self, number), *[0] * (2**self.order - 1)]
            for product, direction in speeds:
                coefficients[product : 2 * product] = direction[entry]
            entries.append(assembled(coefficients))
        return entries

    def is_finite(self, value: Any) -> bool:
        """Whether the series has a value where all infinitesimals are 0."""
        return bool(value[0].is_finite())

    def still(self, value: Any) -> Any:
        """Return the series' value where all infinitesimals are 0, as a constant series."""
        return arb_series([value[0]])

    def allows_quotients(self) -> bool:
        """Whether it matters that derivatives of products may have been found by dividing the product."""
        return self.purpose == "rounding"

    def along(self, leaf: str, direction: list[Any]) -> SeriesArithmetic:
        """Return the same with one more infinitesimal, which does not change what the leaf does by the others."""
        another = (leaf, tuple(parts(speed, self.order) for speed in direction))
        return SeriesArithmetic(self.purpose, self.bits, (*self.directions, another))

    def slope(self, number: Any) -> Any:
        """Return what the last infinitesimal is multiplied with: a ball, or a number with the infinitesimals before."""
        return assembled(parts(number, self.order)[2 ** (self.order - 1) :])

    def context(self) -> AbstractContextManager[None]:
        """Compute in this precision and length inside the block."""
        return series_precision(self.bits, length(self.order))
