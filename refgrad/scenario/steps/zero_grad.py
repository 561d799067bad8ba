"""How does a scenario zero a gradient?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Step
from refgrad.scenario.tokens import Cursor


@dataclass(frozen=True, slots=True)
class ZeroGrad(Step):
    """Forget the gradient that a leaf has gathered: `zero grad x`."""

    name: str

    tag: ClassVar[str] = "zero_grad"
    keyword: ClassVar[str] = "zero"
    assigns: ClassVar[bool] = False
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"name": {"$ref": "#/$defs/name"}})

    def __post_init__(self) -> None:
        """Check the name."""
        check_identifier(self.name)

    @property
    def uses(self) -> tuple[str, ...]:
        """The leaf."""
        return (self.name,)

    def to_text(self) -> str:
        """Return the canonical line."""
        return f"zero grad {self.name}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `zero grad NAME`."""
        cursor.expect("zero")
        cursor.expect("grad")
        return cls(cursor.take_identifier("a name"))

    def to_json(self) -> dict[str, Any]:
        """Return the name."""
        return {"name": self.name}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        return cls(members["name"])
