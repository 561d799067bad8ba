"""A document with one member too few, too many or of another kind is no scenario, and the error says why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refgrad.scenario import Scenario, ScenarioError, parse
from tests.snapshots.placement import PlainText

TEXT = """\
x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad
b = leaf bool[1] {true}
y = sum x axis=0 keepdims=true
z = index x index=(1:1,)
g = grad y x seed float64[1] {0x1p+0}
t = jvp y x float64[2] {0x1p+0 0x1p+0}
backward y seed float64[1] {0x1p+1} retain_graph
zero grad x
read grad x
"""
OTHERS: tuple[Any, ...] = (None, [], ["schema", "steps"], -1.5, "\0")


def damaged(value: Any) -> Iterator[Any]:
    """Yield a value with one member too few, too many or of another kind, wherever it has members."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield {other: each for other, each in value.items() if other != key}
            yield from ({**value, key: each} for each in damaged(member))
        yield {**value, "more": 0}
    elif isinstance(value, list):
        for at, member in enumerate(value):
            yield from ([*value[:at], each, *value[at + 1 :]] for each in damaged(member))
    yield from (other for other in OTHERS if type(other) is not type(value) or not value)


def message(document: Any) -> str:
    try:
        return f"is read: {' '.join(map(str, Scenario.from_json(document).steps[2:4]))}"
    except ScenarioError as error:
        return str(error)


def test_what_is_damaged_is_refused_with_the_reason(snapshot: Any) -> None:
    messages = dict.fromkeys(map(message, damaged(parse(TEXT).to_json())))
    assert "\n".join(messages) == snapshot(extension_class=PlainText)
