"""How does a scenario overwrite a tensor?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Self

from refgrad.scenario.attributes import (
    AttributeValue,
    Slice,
    check_value,
    decode_value,
    encode_value,
    read_value,
    write_value,
)
from refgrad.scenario.errors import ScenarioError, quoted
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Scope, Step
from refgrad.scenario.tokens import Cursor

WRITES: Final = ("add", "multiply", "copy")


@dataclass(frozen=True, slots=True)
class Write(Step):
    """Overwrite a tensor in place: `write y add z`, `write y multiply z`, `write y copy z index=(0, 1:)`.

    The three are y += z, y *= z and y[...] = z; with an index, only the part y[index] is read and written. An index
    has an integer or a slice, with a positive step, for each of the first axes.
    """

    name: str
    action: Literal["add", "multiply", "copy"]
    operand: str
    index: tuple[AttributeValue, ...] | None = None

    tag: ClassVar[str] = "write"
    keyword: ClassVar[str] = "write"
    assigns: ClassVar[bool] = False
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "name": {"$ref": "#/$defs/name"},
            "action": {"enum": list(WRITES)},
            "operand": {"$ref": "#/$defs/name"},
            "index": {"$ref": "#/$defs/attribute"},
        },
    )

    def __post_init__(self) -> None:
        """Check names, action and index."""
        check_identifier(self.name)
        check_identifier(self.operand)
        if self.action not in WRITES:
            raise ScenarioError(f"a write is one of {', '.join(WRITES)}, not {quoted(self.action)}")
        if self.index is not None:
            _check_index(self.index)

    @property
    def uses(self) -> tuple[str, ...]:
        """The tensor that is written to, and the one that is written."""
        return (self.name, self.operand)

    def check(self, scope: Scope) -> None:
        """Check the names; a tensor is not copied onto itself."""
        Step.check(self, scope)
        if self.action == "copy" and self.name == self.operand:
            raise ScenarioError(f"{quoted(self.name)} cannot be copied onto itself")

    def to_text(self) -> str:
        """Return the canonical line."""
        index = "" if self.index is None else f" index={write_value(self.index)}"
        return f"write {self.name} {self.action} {self.operand}{index}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `write NAME add|multiply|copy OPERAND [index=INDEX]`."""
        cursor.expect("write")
        name = cursor.take_identifier("a name")
        action: Any = cursor.take("add, multiply or copy")
        operand = cursor.take_identifier("a name")
        index: Any = None
        if cursor.accept("index"):
            cursor.expect("=")
            index = read_value(cursor)
        return cls(name, action, operand, index)

    def to_json(self) -> dict[str, Any]:
        """Return name, action, operand and index."""
        return {
            "name": self.name,
            "action": self.action,
            "operand": self.operand,
            "index": encode_value(self.index),
        }

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        index: Any = decode_value(members["index"])
        return cls(members["name"], members["action"], members["operand"], index)


def _check_index(index: object) -> None:
    check_value(index)
    items = index if isinstance(index, tuple) else (None,)
    for item in items:
        if type(item) is not int and not (isinstance(item, Slice) and (item.step or 1) > 0):
            raise ScenarioError(f"the index of a write is a tuple of integers and forward slices, not {quoted(index)}")
