"""Snapshot of the rule of each type of attribute: simpler values than drawn ones, and shapes that have a value."""

from __future__ import annotations

from collections.abc import Iterator

from syrupy.assertion import SnapshotAssertion

from refgrad.generation import operator_scenario
from refgrad.generation.attributes.rules import ATTRIBUTE_RULES
from refgrad.operators import operator_table
from refgrad.operators.table import AttributeType
from refgrad.scenario import Apply, AttributeValue
from tests.snapshots.placement import PlainText

SHAPES = [(), (1,), (3,), (2, 3), (0, 4)]
SEEDS = range(3)


def drawn(kind: AttributeType) -> Iterator[AttributeValue]:
    """Yield values of the first attribute of a type in the operator table."""
    row, name = next(
        (row, each.name) for row in operator_table().values() for each in row.attributes if each.type == kind
    )
    for seed in SEEDS:
        steps = operator_scenario(seed, row.name).steps
        yield next(
            row.bind(dict(step.attributes))[name]
            for step in steps
            if isinstance(step, Apply) and step.operator == row.name
        )


def test_the_rule_of_each_type_is_this(snapshot: SnapshotAssertion) -> None:
    lines = []
    for kind, rule in ATTRIBUTE_RULES.items():
        lines.append(f"{kind}: at least {rule.rank} axes; {', '.join(f'{x} to {rule.adapted(x)}' for x in SHAPES)}")
        lines += [f"    {value}: {', '.join(map(str, rule.simpler(value)))}" for value in drawn(kind)]
    assert "\n".join(lines) == snapshot(extension_class=PlainText)
