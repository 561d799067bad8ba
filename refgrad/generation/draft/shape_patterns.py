"""Shapes that fit a pattern such as ``"... n k"``, together with the shapes of previous operands.

A letter stands for a length, the same one wherever the letter occurs. A number stands for itself, and a leading ``...``
for any axes, the same ones in every pattern that has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from refgrad.generation.choices import Choices
from refgrad.generation.profile import Profile
from refgrad.operators.structure import Shape

Bindings: TypeAlias = Mapping[str, Shape]
ANY: Final = "..."


def bound(patterns: tuple[str, ...], shapes: tuple[Shape, ...]) -> Bindings | None:
    """Return the lengths that each letter stands for, or None if the shapes do not fit the first patterns."""
    bindings: dict[str, Shape] = {}
    for pattern, shape in zip(patterns, shapes, strict=False):
        matched = _matched(pattern, shape)
        if matched is None:
            return None
        for letter, lengths in matched:
            if bindings.setdefault(letter, lengths) != lengths:
                return None
    return bindings


def nearest(pattern: str, shape: Shape) -> Shape:
    """Return a shape of this pattern with lengths taken from ``shape``."""
    letters = [letter for letter in pattern.split() if letter != ANY]
    free = max(0, len(shape) - len(letters)) if ANY in pattern else 0
    lengths = [*shape[free:], *(2 for _ in letters)]
    bindings: dict[str, int] = {}
    tail = [
        int(letter) if letter.isdigit() else bindings.setdefault(letter, length)
        for letter, length in zip(letters, lengths, strict=False)
    ]
    return (*shape[:free], *tail)


def chosen(choices: Choices, patterns: tuple[str, ...], shapes: tuple[Shape, ...], profile: Profile) -> Shape:
    """Return a shape of the pattern after those of ``shapes``; letters without a length yet get a random one."""
    bindings = dict(bound(patterns, shapes) or {})
    lengths: list[int] = []
    for letter in patterns[len(shapes)].split():
        if letter.isdigit():
            lengths.append(int(letter))
        else:
            given = () if letter == ANY else (choices.choice(profile.dimensions),)
            lengths.extend(bindings.setdefault(letter, given))
    return tuple(lengths)


def _matched(pattern: str, shape: Shape) -> list[tuple[str, Shape]] | None:
    letters = pattern.split()
    free = 0
    if letters[:1] == [ANY]:
        letters = letters[1:]
        free = len(shape) - len(letters)
    if free < 0 or len(shape) != free + len(letters):
        return None
    tail = shape[free:]
    if any(letter.isdigit() and int(letter) != length for letter, length in zip(letters, tail, strict=True)):
        return None
    pairs: list[tuple[str, Shape]]
    pairs = [(letter, (length,)) for letter, length in zip(letters, tail, strict=True) if not letter.isdigit()]
    return [(ANY, shape[:free]), *pairs] if ANY in pattern else pairs
