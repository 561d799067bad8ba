"""Balls in a format with a largest and a smallest number: overflow, and small numbers that lose bits.

Balls know no largest and no smallest number. Here every operation, those inside of an operator's own formula included,
is held against the format: what an engine might not be able to represent is not a number, so that nothing is said of
what depends on it, and what may be smaller than the smallest normal number is off by what underflow does to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final, cast

from flint import arb

from refgrad.operators import Operator
from refgrad.operators.functions.balls import ball_functions, precision
from refgrad.oracles.certified.arithmetic import Arithmetic, Derivative
from refgrad.oracles.certified.ball_derivatives import continued, rule
from refgrad.scenario.formats import FLOAT64, Format

HEADROOM: Final = 4.0
"""An engine may sum in another order, or scale elsewhere: it may overflow with results this much smaller."""

_format: ContextVar[Format] = ContextVar("_format", default=FLOAT64)
"""The format of the numbers that are being computed, as FLINT's precision is."""


class Ranged:
    """A ball in a format with a largest and a smallest number."""

    __slots__ = ("ball",)

    def __init__(self, number: Any) -> None:
        """Fit a ball, or a number, into the format."""
        self.ball = _fitted(arb(_plain(number)))

    def is_finite(self) -> bool:
        """Whether it is certain that an engine has a number here."""
        return bool(self.ball.is_finite())

    def __neg__(self) -> Ranged:
        """Negate."""
        return Ranged(-self.ball)

    def __add__(self, other: Any) -> Ranged:
        """Add."""
        return Ranged(self.ball + _plain(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Ranged:
        """Subtract."""
        return Ranged(self.ball - _plain(other))

    def __rsub__(self, other: Any) -> Ranged:
        """Subtract from another."""
        return Ranged(_plain(other) - self.ball)

    def __mul__(self, other: Any) -> Ranged:
        """Multiply."""
        return Ranged(self.ball * _plain(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Ranged:
        """Divide."""
        return Ranged(self.ball / _plain(other))

    def __rtruediv__(self, other: Any) -> Ranged:
        """Divide another."""
        return Ranged(_plain(other) / self.ball)

    def __pow__(self, other: Any) -> Ranged:
        """Raise to a power."""
        return Ranged(self.ball ** _plain(other))

    def __rpow__(self, other: Any) -> Ranged:
        """Raise another to this power."""
        return Ranged(arb(_plain(other)) ** self.ball)


@dataclass(frozen=True, slots=True)
class RangedArithmetic(Arithmetic):
    """How engines round in a format; gradients of gradients are not for it."""

    form: Format = FLOAT64

    number: ClassVar[type[Any]] = Ranged

    def derivative(self, operator: Operator) -> Derivative:
        """Return the scalar function that gives an operator's value and partials as engines compute them."""
        return _derivative(operator, self.bits)

    def enter(self, number: float) -> Ranged:
        """Return the ball of a given number, half an ulp wide."""
        return Ranged(Arithmetic.enter(self, number))

    def context(self) -> AbstractContextManager[None]:
        """Compute in this precision and format inside the block."""
        return _computing_in(self.form)


def plain_ball(number: Any) -> arb:
    """Return the ball of a number of any arithmetic without infinitesimals."""
    return cast("arb", _plain(number))


def _plain(number: Any) -> Any:
    return number.ball if type(number) is Ranged else number


def _fitted(ball: arb) -> arb:
    """Return the ball, widened by underflow, or what is not a number if it may be too large."""
    if not ball.is_finite() or ball.is_zero():
        return ball
    form, middle, radius = _format.get(), abs(float(ball.mid())), float(ball.rad())
    if middle + radius > form.largest / HEADROOM:
        return arb.nan()
    return ball + arb(0, form.underflow) if middle - radius < form.smallest_normal else ball


@contextmanager
def _computing_in(form: Format) -> Iterator[None]:
    token = _format.set(form)
    try:
        with precision(form.bits):
            yield
    finally:
        _format.reset(token)


@cache
def _derivative(operator: Operator, bits: int) -> Derivative:
    functions = {name: _in_range(function) for name, function in ball_functions(bits).items()}
    return continued(operator, rule(operator, functions), functions)


def _in_range(function: Any) -> Any:
    """Return a function of balls as one of numbers in range; decisions stay what they are, and so do constants."""
    if not callable(function):
        return function

    def ranged(*numbers: Any) -> Any:
        result = function(*map(_plain, numbers))
        return Ranged(result) if type(result) is arb else result

    return ranged
