"""Fixed scenarios of operators that engines fuse or rewrite together: rows of `specs/neighbours.toml`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

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


@cache
def _patterns() -> tuple[tuple[Apply, ...], ...]:
    """Return the operator applications of each row of the table, in the order in which they are computed."""
    leaves = [f"{name} = leaf float64[] {{0x0p+0}}" for name in "xyz"]
    texts = ("\n".join([*leaves, *text.split("; ")]) for text in ROWS["patterns"].values())
    return tuple(parse(text).applications for text in texts)


def neighbours(profile: Profile) -> Iterator[Scenario]:
    """Yield every row whose operators the profile allows, with one setting of values after another."""
    patterns = [each for each in _patterns() if all(profile.allows(step.operator) for step in each)]
    for number, values in enumerate(ROWS["settings"].values()):
        for pattern in patterns:
            scenario = _applied(pattern, values, Builder(profile, (), Choices(number)))
            if scenario is not None:
                yield scenario


def _applied(pattern: Sequence[Apply], leaves: Sequence[Any], builder: Builder) -> Scenario | None:
    """Return the scenario of a row with these values of its leaves, or None if an operator does not admit them."""
    named = zip("xyz", map(np.array, leaves), strict=True)
    values = {name: Operand.of(array, requires_grad=True) for name, array in named}
    with np.errstate(all="ignore"):
        for step in pattern:
            operands, attributes = [values[name] for name in step.arguments], dict(step.attributes)
            value = builder.compute(operator_table()[step.operator], operands, attributes, margin=MARGIN)
            if value is None:
                return None
            builder.add_result(value, step.operator, attributes)
            values[step.name] = value
    return completed(builder)
