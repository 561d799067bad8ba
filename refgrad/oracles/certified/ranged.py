"""Balls in a format with a largest and a smallest number: overflow, and small numbers that lose bits.

Balls know no largest and no smallest number. Here every operation, including those inside an operator's own formula, is
checked against the format. A result that an engine might not be able to represent becomes NaN, so that nothing is
judged that depends on it. A result that may be smaller than the smallest normal number gets the error of underflow.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final

from flint import arb

from refgrad.operators import Operator
from refgrad.operators.functions.balls import ball_functions, precision
from refgrad.oracles.certified.arithmetic import Arithmetic
from refgrad.oracles.certified.series import Derivative, continued, rule
from refgrad.scenario.formats import FLOAT64, Format

HEADROOM: Final = 4.0
"""Factor by which a result may be below the largest number and yet overflow in an engine.

Engines may sum in another order, or scale elsewhere.
"""

_format: ContextVar[Format] = ContextVar("_format", default=FLOAT64)
"""Format of the current computation. It is context state, like FLINT's precision."""


def _ranged(function: Callable[[arb, Any], arb]) -> Callable[[Any, Any], Ranged]:
    """Return the method that applies a function of balls, and restricts the result to the range of the format."""
    return lambda number, other: Ranged(function(number.ball, plain_ball(other)))


class Ranged:
    """A ball in a format with a largest and a smallest number."""

    __slots__ = ("ball",)

    def __init__(self, number: Any) -> None:
        """Restrict a ball, or a number, to the range of the format."""
        self.ball = _fitted(number if type(number) is arb else arb(plain_ball(number)))

    def is_finite(self) -> bool:
        """Return True if an engine certainly has a finite number here."""
        return bool(self.ball.is_finite())

    def __neg__(self) -> Ranged:
        """Negate."""
        return Ranged(-self.ball)

    __add__ = __radd__ = _ranged(operator.add)
    __mul__ = __rmul__ = _ranged(operator.mul)
    __sub__, __rsub__ = _ranged(operator.sub), _ranged(lambda x, other: other - x)
    __truediv__, __rtruediv__ = _ranged(operator.truediv), _ranged(lambda x, other: other / x)
    __pow__, __rpow__ = _ranged(operator.pow), _ranged(lambda x, other: arb(other) ** x)


@dataclass(frozen=True, slots=True)
class RangedArithmetic(Arithmetic):
    """Arithmetic that rounds as engines do in a format. It is not used for gradients of gradients."""

    form: Format = FLOAT64

    number: ClassVar[type[Any]] = Ranged

    def derivative(self, operator: Operator) -> Derivative:
        """Return the scalar function that gives an operator's value and partials as engines compute them."""
        return _derivative(operator, self.bits)

    def enter(self, number: float) -> Ranged:
        """Return the ball of a number, with a relative radius of one unit roundoff unless it is 0 or infinite."""
        return Ranged(Arithmetic.enter(self, number))

    def context(self) -> AbstractContextManager[None]:
        """Compute in this precision and format inside the block."""
        return _computing_in(self.form)


def plain_ball(number: Any) -> Any:
    """Return the ball of a number in a format, and any other number unchanged."""
    return number.ball if type(number) is Ranged else number


def _fitted(ball: arb) -> arb:
    """Return the ball, widened by the error of underflow, or NaN if it may be too large."""
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
    """Wrap a function of balls for :class:`Ranged` numbers. Decisions stay unchanged, as do constants."""
    if not callable(function):
        return function

    def ranged(*numbers: Any) -> Any:
        result = function(*map(plain_ball, numbers))
        return Ranged(result) if type(result) is arb else result

    return ranged
