"""Fixed scenarios of operators that engines fuse or rewrite together: rows of `specs/neighbours.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice, product
from typing import Any, Final, TypeAlias

import numpy as np

from refgrad.documents import parsed_toml
from refgrad.generation.admission import MARGIN
from refgrad.generation.backward_calls import completed
from refgrad.generation.builder import Builder, Operand
from refgrad.generation.profile import Choices, Profile
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Scenario, parse
from refgrad.specification import shipped_path

ROWS: Final = parsed_toml(shipped_path("neighbours.toml"))


Pattern: TypeAlias = tuple[Apply, ...]


@cache
def _parsed(texts: Iterable[str]) -> tuple[Pattern, ...]:
    """Return the operator applications of each row, in the order in which they are computed."""
    leaves = [f"{name} = leaf float64[] {{0x0p+0}}" for name in "xyz"]
    return tuple(parse("\n".join([*leaves, *text.split("; ")])).applications for text in texts)


def _pairs() -> Iterator[str]:
    """Yield a row for each ordered pair of operators."""
    for first, second in product(ROWS["pairs"]["operators"], repeat=2):
        yield f"a = {first.format('x', 'y')}; b = {second.format('a', 'z')}"


def neighbours(profile: Profile) -> Iterator[Scenario]:
    """Yield every row whose operators the profile allows, with one setting of values after another, then all pairs."""
    settings = ROWS["settings"]
    patterns = _allowed(ROWS["patterns"].values(), profile)
    for number, values in enumerate(settings.values()):
        for pattern in patterns:
            yield from _applied(pattern, values, Builder(profile, (), Choices(number)))
    usual, number = [settings[name] for name in ROWS["pairs"]["settings"]], len(settings)
    for pattern in _allowed(_pairs(), profile):
        admitted = (_applied(pattern, values, Builder(profile, (), Choices(number))) for values in usual)
        yield from islice(chain.from_iterable(admitted), 1)


def _allowed(rows: Iterable[str], profile: Profile) -> list[Pattern]:
    return [each for each in _parsed(tuple(rows)) if all(profile.allows(step.operator) for step in each)]


def _applied(pattern: Pattern, leaves: Sequence[Any], builder: Builder) -> Iterator[Scenario]:
    """Yield the scenario of a row with these values of its leaves, unless an operator does not admit them."""
    named = zip("xyz", map(np.array, leaves), strict=True)
    values = {name: Operand.of(array, requires_grad=True) for name, array in named}
    with np.errstate(all="ignore"):
        for step in pattern:
            operands, attributes = [values[name] for name in step.arguments], dict(step.attributes)
            value = builder.compute(operator_table()[step.operator], operands, attributes, margin=MARGIN)
            if value is None:
                return
            builder.add_result(value, step.operator, attributes)
            values[step.name] = value
    scenario = completed(builder)
    if scenario is not None:
        yield scenario
