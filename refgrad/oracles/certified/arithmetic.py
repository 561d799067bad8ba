"""Scalar arithmetic of the tape: true or rounded as in engines; in balls, or in power series along directions.

The power series hold numbers with several infinitesimals, each of which squares to zero, as one series in t.

A number with infinitesimals e₁ … eₙ has a coefficient for each product of some of them, as mixed derivatives need. Let
eᵢ be t to the power of an integer aᵢ. FLINT's series compute with such numbers, provided that the exponent of each
product of different infinitesimals is the sum of no other collection of the aᵢ. Then squares of infinitesimals, and
powers of t that represent no product, never contribute to a coefficient that is read (L. Kronecker's substitution, with
gaps).

Collections of j of the numbers m + 2ⁱ (i < n) sum to j m and j powers of two. If m is large, that sum determines j, and
j powers of two have a sum with j binary ones only if they differ. So some m has the property, and the least is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from itertools import count as counted
from math import isinf
from typing import Any, ClassVar

from flint import arb, arb_series

from refgrad.operators import Operator
from refgrad.operators.functions.balls import precision, series_precision
from refgrad.oracles.certified.series import Derivative, Purpose, scalar_derivative, true_series, usual_series


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Arithmetic of the tape, in balls.

    ``purpose`` is ``truth`` for the rows' formulas, or ``rounding`` for the way engines compute, with inflated leaves.
    ``bits`` is the precision of the balls; with ``rounding`` it is the engine's own (53 for float64, 24 for float32).
    """

    purpose: Purpose
    bits: int

    number: ClassVar[type[Any]] = arb
    """Type of a scalar."""

    def derivative(self, operator: Operator) -> Derivative:
        """Return the scalar function that gives an operator's value and partials."""
        return scalar_derivative(operator, self.bits, self.purpose)

    def enter(self, number: float) -> Any:
        """Return the ball of a number.

        It is exact for ``truth``, for 0 and for infinities; else its relative radius is one unit roundoff.
        """
        if self.purpose == "truth" or number == 0 or isinf(number):
            return arb(number)
        return arb(number, abs(number) * 2.0**-self.bits)

    def leaf(self, name: str, numbers: list[float]) -> list[Any]:  # noqa: ARG002 (only series depend on the leaf)
        """Return the scalars of a leaf's entries."""
        return [self.enter(number) for number in numbers]

    def is_finite(self, value: Any) -> bool:
        """Return True if a scalar has a finite value."""
        return bool(value.is_finite())

    def still(self, value: Any) -> Any:
        """Return the scalar as a constant, which changes along no direction."""
        return value

    def context(self) -> AbstractContextManager[None]:
        """Compute in this precision inside the block."""
        return precision(self.bits)

    def allows_quotients(self) -> bool:
        """Return True if slopes of products need the rounding noise of engines that divide the product by a factor."""
        return self.purpose == "rounding" and self.number is arb_series

    def along(self, leaf: str, direction: list[Any]) -> SeriesArithmetic:
        """Return the arithmetic with one more infinitesimal, along which a leaf changes by ``direction``, per entry."""
        return SeriesArithmetic(self.purpose, self.bits, ((leaf, tuple(parts(speed, 0) for speed in direction)),))


@dataclass(frozen=True, slots=True)
class SeriesArithmetic(Arithmetic):
    """Arithmetic of numbers with infinitesimals, as power series of balls.

    Each of ``directions`` belongs to one infinitesimal, by which it changes a leaf. It has, for each entry of the leaf,
    the coefficients of a number with the infinitesimals before it. On the tape the coefficient of an infinitesimal in a
    cotangent is the derivative of that cotangent along its direction.
    """

    directions: tuple[tuple[str, tuple[tuple[arb, ...], ...]], ...] = ()

    number: ClassVar[type[Any]] = arb_series

    @property
    def order(self) -> int:
        """Number of infinitesimals."""
        return len(self.directions)

    def derivative(self, operator: Operator) -> Derivative:
        """Return the function of series that gives an operator's value and partials."""
        if self.purpose == "truth":
            return true_series(operator, self.bits)
        return usual_series(operator, self.bits, self.order)

    def enter(self, number: float) -> Any:
        """Return a number as a constant series."""
        return arb_series([Arithmetic.enter(self, number)])

    def leaf(self, name: str, numbers: list[float]) -> list[Any]:
        """Return the entries of a leaf as series that change along the leaf's directions."""
        speeds = [(2**digit, direction) for digit, (leaf, direction) in enumerate(self.directions) if leaf == name]
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
        """Return True if the series has a finite value at the point where all infinitesimals are 0."""
        return bool(value[0].is_finite())

    def still(self, value: Any) -> Any:
        """Return the value at the point where all infinitesimals are 0, as a constant series."""
        return arb_series([value[0]])

    def along(self, leaf: str, direction: list[Any]) -> SeriesArithmetic:
        """Return the arithmetic with one more infinitesimal. The leaf changes along it in addition to the others."""
        another = (leaf, tuple(parts(speed, self.order) for speed in direction))
        return SeriesArithmetic(self.purpose, self.bits, (*self.directions, another))

    def slope(self, number: Any) -> Any:
        """Return the coefficient of the last infinitesimal: a ball, or a number with the infinitesimals before it."""
        return assembled(parts(number, self.order)[2 ** (self.order - 1) :])

    def context(self) -> AbstractContextManager[None]:
        """Compute in this precision and length inside the block."""
        return series_precision(self.bits, length(self.order))


@cache
def exponents(count: int) -> tuple[int, ...]:
    """Return the exponent of t of each product of infinitesimals: bit i of a product's index is set if it contains eᵢ.

    One infinitesimal is t itself; two are t² and t³, and their product is t⁵.
    """
    return next(each for each in (_sums(m, count) for m in counted()) if _each_in_one_way(each, count))


def _sums(offset: int, count: int) -> tuple[int, ...]:
    return tuple(sum(offset + 2**i for i in range(count) if product >> i & 1) for product in range(2**count))


def _each_in_one_way(sums: tuple[int, ...], count: int) -> bool:
    """Return True if each of the sums is the sum of one collection only, with repetitions allowed."""
    ways = [1] + [0] * sums[-1]
    for exponent in (sums[2**i] for i in range(count)):
        for total in range(exponent, len(ways)):
            ways[total] += ways[total - exponent]
    return all(ways[total] == 1 for total in sums)


def length(count: int) -> int:
    """Return the number of coefficients of a series that holds ``count`` infinitesimals."""
    return exponents(count)[-1] + 1


def parts(number: Any, count: int) -> tuple[Any, ...]:
    """Return the coefficient of each product of infinitesimals; NaN where the series knows too few coefficients."""
    if type(number) is not arb_series:
        return (arb(number), *[arb(0)] * (2**count - 1))
    known = number.prec
    return tuple(number[at] if at < known else arb.nan() for at in exponents(count))


def assembled(coefficients: Sequence[Any]) -> Any:
    """Return the number with these coefficients: a ball if there is only one, else a series."""
    if len(coefficients) == 1:
        return coefficients[0]
    where = exponents(len(coefficients).bit_length() - 1)
    dense: list[Any] = [0] * (where[-1] + 1)
    for at, coefficient in zip(where, coefficients, strict=True):
        dense[at] = coefficient
    return arb_series(dense)
