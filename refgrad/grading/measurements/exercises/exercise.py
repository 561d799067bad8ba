"""What an exercise is, and the lines that exercises share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from refgrad.native.library import Library, function

Lines = Callable[[Library], list[str]]


@dataclass(frozen=True, slots=True)
class Exercise:
    """A program that notes numbers under labels, and what each of them must be.

    ``due`` has a whole number for each label, or None where nothing may have been sent: then zero will do as well. A
    number may be noted many times. ``fields`` are those of an adapter without which the program cannot be written.
    """

    what: str
    due: Mapping[str, float | None]
    tape: Lines
    functional: Lines | None = None
    operators: tuple[str, ...] = ("add", "multiply")
    features: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


def leaf(library: Library, number: str) -> str:
    """Spell a leaf that holds a number."""
    return library.leaf(f"np.array({number})", number)


def note(label: str, number: str) -> str:
    """Spell the note of a number, or of an array that holds one."""
    return f"note({label!r}, {number})"


def less(array: str, due: str) -> str:
    """Spell the number in an array, less another; None stays None."""
    return f"less({array}, {due})"


def polynomial(library: Library, x: str = "x") -> str:
    """Spell ``x * x + x``, which has the derivative ``2 * x + 1``."""
    return library.apply("add", library.apply("multiply", x, x), x)


def slope(library: Library) -> str:
    """Return the function that gives the value and the slope of the polynomial, from a graph of its own."""
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
