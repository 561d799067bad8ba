"""How does a scenario observe a gradient or a value?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Self

from refgrad.scenario.errors import ScenarioError, quoted
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Step
from refgrad.scenario.tokens import Cursor

READABLE: Final = ("grad", "value")


@dataclass(frozen=True, slots=True)
class Read(Step):
    """Observe a tensor's gradient or value at this point: `read grad x`, `read value b`."""

    what: Literal["grad", "value"]
    name: str

    tag: ClassVar[str] = "read"
    keyword: ClassVar[str] = "read"
    assigns: ClassVar[bool] = False
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"what": {"enum": list(READABLE)}, "name": {"$ref": "#/$defs/name"}},
    )

    def __post_init__(self) -> None:
        """Check what is read, and the name."""
        if self.what not in READABLE:
            raise ScenarioError(f"{quoted(self.what)} cannot be read, only {' or '.join(READABLE)} can")
        check_identifier(self.name)

    @property
    def uses(self) -> tuple[str, ...]:
        """The tensor that is read."""
        return (self.name,)

    def to_text(self) -> str:
        """Return the canonical line."""
        return f"read {self.what} {self.name}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `read grad NAME` or `read value NAME`."""
        cursor.expect("read")
        what: Any = cursor.take("grad or value")
        return cls(what, cursor.take_identifier("a name"))

    def to_json(self) -> dict[str, Any]:
        """Return what and name."""
        return {"what": self.what, "name": self.name}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        return cls(members["what"], members["name"])
