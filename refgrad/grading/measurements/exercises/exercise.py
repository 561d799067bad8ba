"""The class of exercises, and the expressions and lines that exercises share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from refgrad.native.library import Library, function

Lines = Callable[[Library], list[str]]


@dataclass(frozen=True, slots=True)
class Exercise:
    """A program that notes numbers under labels, and the expected number of each label.

    ``expected`` has an integer for each label, or None if no gradient is expected, in which case zero is right as well.
    Each label may be noted many times. ``fields`` are the fields of an adapter that the program needs.
    """

    what: str
    expected: Mapping[str, float | None]
    tape: Lines
    functional: Lines | None = None
    operators: tuple[str, ...] = ("add", "multiply")
    features: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


def leaf(library: Library, number: str) -> str:
    """Return the expression of a leaf that holds a number."""
    return library.leaf(f"np.array({number})", number)


def note(label: str, number: str) -> str:
    """Return the line that notes a number, or an array that holds one, under a label."""
    return f"note({label!r}, {number})"


def less(array: str, expected: str) -> str:
    """Return the expression of the number in an array minus ``expected``; None stays None."""
    return f"less({array}, {expected})"


def polynomial(library: Library, x: str = "x") -> str:
    """Return the expression of ``x * x + x``, which has the derivative ``2 * x + 1``."""
    return library.apply("add", library.apply("multiply", x, x), x)


def slope(library: Library) -> str:
    """Return the text of a function that returns the value and the derivative of the polynomial, from a new graph."""
    if library.tape:
        lines = [
            f"x = {leaf(library, 'float(number)')}",
            f"y = {polynomial(library)}",
            library.backward("y"),
            f"return {library.value('y')}, {library.gradient('x')}",
        ]
    else:
        lines = [
            f"x = {leaf(library, 'float(number)')}",
            f"y, pullback = {library.vjp('lambda x: ' + polynomial(library), '[x]')}",
            f"(gradient,) = pullback({library.one})",
            f"return {library.value('y')}, {library.value('gradient')}",
        ]
    return function("slope(number)", lines)
