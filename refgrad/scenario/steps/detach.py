"""How does a scenario cut a tensor off from what it was computed from?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Step
from refgrad.scenario.tokens import Cursor


@dataclass(frozen=True, slots=True)
class Detach(Step):
    """Make a tensor of the same memory through which no gradient flows: `d = detach y`."""

    name: str
    source: str

    tag: ClassVar[str] = "detach"
    keyword: ClassVar[str] = "detach"
    assigns: ClassVar[bool] = True
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({
        "name": {"$ref": "#/$defs/name"},
        "source": {"$ref": "#/$defs/name"},
    })

    def __post_init__(self) -> None:
        """Check the names."""
        check_identifier(self.name)
        check_identifier(self.source)

    @property
    def defines(self) -> str:
        """The detached tensor's name."""
        return self.name

    @property
    def uses(self) -> tuple[str, ...]:
        """The tensor that it is detached from."""
        return (self.source,)

    def to_text(self) -> str:
        """Return the canonical line."""
        return f"{self.name} = detach {self.source}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `NAME = detach SOURCE`."""
        name = cursor.take_identifier("a name")
        cursor.expect("=")
        cursor.expect("detach")
        return cls(name, cursor.take_identifier("a name"))

    def to_json(self) -> dict[str, Any]:
        """Return name and source."""
        return {"name": self.name, "source": self.source}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        return cls(members["name"], members["source"])
