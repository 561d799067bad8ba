"""Complex arrays whose arithmetic keeps both parts of its results right to the last bits.

A perturbed array changes every result of every numpy function by as much as rounding may have done, up or down at
random: the spread of a computation under perturbation is what rounding can do to it, whatever it cancels on its way
(D. S. Parker, Monte Carlo arithmetic, UCLA CSD-970002, 1997).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ROUNDOFFS = 8.0
"""How many units of roundoff (2⁻⁵³) each part of a result may be off; the tests hold every function to that."""

PRODUCTS = frozenset({np.multiply, np.divide, np.matmul})
"""Functions in whose imaginary part two products cancel: there the operands are perturbed, not the result."""


@dataclass(frozen=True, slots=True)
class Shaking:
    """Moves the real and the imaginary part of each entry by ``ROUNDOFFS``, up or down; zeros and integers stay."""

    random: np.random.Generator

    def __call__(self, array: Array) -> Array:
        """Return the moved array."""
        if not np.issubdtype(array.dtype, np.inexact):
            return array
        if not np.iscomplexobj(array):
            return np.asarray(array * self._factors(array.shape))
        moved = np.empty_like(array)
        moved.real = array.real * self._factors(array.shape)
        moved.imag = array.imag * self._factors(array.shape)
        return moved

    def _factors(self, shape: tuple[int, ...]) -> Array:
        return 1 + ROUNDOFFS * 2.0**-53 * (2 * self.random.integers(0, 2, shape) - 1)


class ComplexArray(np.ndarray[Any, Any]):
    """A numpy array with powers that are right in both parts, and perturbed if ``shaking`` says so."""

    shaking: Shaking | None = None

    @classmethod
    def of(cls, array: Array, shaking: Shaking | None) -> Self:
        """Return a view of an array of real or complex numbers."""
        view = np.asarray(array).view(cls)
        view.shaking = shaking
        return view

    def __array_finalize__(self, source: Array | None) -> None:
        """Let results and views be perturbed as their source is."""
        self.shaking = getattr(source, "shaking", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **keywords: Any) -> Any:
        """Apply a function to the plain arrays and shake what it rounds."""
        if method == "at":
            target, index, added = inputs
            return ufunc.at(np.asarray(target), index, self._perturbed(np.asarray(added)))
        operands = [np.asarray(operand) for operand in inputs]
        if method == "reduce" or ufunc in PRODUCTS:
            operands = [self._perturbed(operand) for operand in operands]
        function = ACCURATE.get(ufunc, ufunc) if method == "__call__" else getattr(ufunc, method)
        result = np.asarray(function(*operands, **keywords))
        if ufunc not in PRODUCTS:
            result = self._perturbed(result)
        if out:
            out[0][...] = result
            return out[0]
        return ComplexArray.of(result, self.shaking)

    def __array_function__(self, function: Any, types: Any, inputs: Any, keywords: Any) -> Any:
        """Let what ``where`` and its like return be perturbed further."""
        result = super().__array_function__(function, types, inputs, keywords)
        return ComplexArray.of(result, self.shaking) if type(result) is np.ndarray else result

    def _perturbed(self, array: Array) -> Array:
        return array if self.shaking is None else self.shaking(array)


def exp2(x: Array) -> Array:
    """Return 2 to the x; numpy's, of complex numbers, loses what the product of x and log 2 rounds."""
    if not np.iscomplexobj(x):
        return np.asarray(np.exp2(x))
    return np.asarray(np.exp2(x.real) * np.exp(1j * math.log(2) * x.imag))


def log1p(x: Array) -> Array:
    """Return log(1 + x); the real part of numpy's, of complex numbers, is the logarithm of a rounded 1 + x.

    |1 + x|² = 1 + x.real (2 + x.real) + x.imag², of which the 1 is left to the real log1p; near -1 the sum is exact.
    """
    if not np.iscomplexobj(x):
        return np.asarray(np.log1p(x))
    usual = np.log1p(x)
    wide = x.real > -0.5  # by Sterbenz' lemma 1 + x is exact below
    near = np.log1p(np.where(wide, x.real * (2 + x.real) + x.imag * x.imag, 0)) / 2
    return np.asarray(np.where(wide, near, usual.real) + 1j * usual.imag)


def power(x: Array, y: Array) -> Array:
    """Return x ** y; numpy's, of complex numbers, loses what the product of y and log x rounds.

    With x = a + ib, a > 0, and y = c + id it is a ** c · exp(i d log a + y log(1 + i b / a)); numpy's own elsewhere.
    """
    if not np.iscomplexobj(x) and not np.iscomplexobj(y):
        return np.asarray(np.power(x, y))
    base = np.where(np.real(x) > 0, np.real(x), 1)
    turn = 1j * np.imag(y) * np.log(base) + y * log1p(1j * (np.imag(x) / base))
    return np.asarray(np.where(np.real(x) > 0, np.power(base, np.real(y)) * np.exp(turn), np.power(x, y)))


ACCURATE: Mapping[np.ufunc, Callable[..., Array]] = MappingProxyType({
    np.power: power,
    np.log1p: log1p,
    np.exp2: exp2,
})
"""Functions in place of numpy's, which are off by more than a few bits in one part; numpy has no exp2 at all."""
