"""How does a scenario zero a gradient?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

from refgrad.scenario.errors import check_type
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Step
from refgrad.scenario.tokens import Cursor


@dataclass(frozen=True, slots=True)
class ZeroGrad(Step):
    """Forget the gradient that a leaf has gathered: `zero grad x`; or make it zeros, if any: `zero grad x to zeros`."""

    name: str
    to_zeros: bool = False

    tag: ClassVar[str] = "zero_grad"
    keyword: ClassVar[str] = "zero"
    assigns: ClassVar[bool] = False
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({
        "name": {"$ref": "#/$defs/name"},
        "to_zeros": {"const": True},
    })
    optional: ClassVar[frozenset[str]] = frozenset({"to_zeros"})

    def __post_init__(self) -> None:
        """Check name and flag."""
        check_identifier(self.name)
        check_type("to_zeros", self.to_zeros, bool)

    @property
    def uses(self) -> tuple[str, ...]:
        """The leaf."""
        return (self.name,)

    def to_text(self) -> str:
        """Return the canonical line."""
        return f"zero grad {self.name}{' to zeros' if self.to_zeros else ''}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `zero grad NAME` or `zero grad NAME to zeros`."""
        cursor.expect("zero")
        cursor.expect("grad")
        name = cursor.take_identifier("a name")
        to_zeros = cursor.accept("to")
        if to_zeros:
            cursor.expect("zeros")
        return cls(name, to_zeros)

    def to_json(self) -> dict[str, Any]:
        """Return the name, and that zeros are wanted if they are."""
        return {"name": self.name, **({"to_zeros": True} if self.to_zeros else {})}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        return cls(members["name"], members.get("to_zeros", False))
