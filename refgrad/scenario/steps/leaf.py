"""How does a scenario make a leaf?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import check_type
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Scope, Step
from refgrad.scenario.tokens import Cursor


@dataclass(frozen=True, slots=True)
class Leaf(Step):
    """Make a tensor of these values: `x = leaf float64[2] {0x1.8p+0 -0x1p-1} requires_grad`."""

    name: str
    value: Constant
    requires_grad: bool = False

    tag: ClassVar[str] = "leaf"
    keyword: ClassVar[str] = "leaf"
    assigns: ClassVar[bool] = True
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"name": {"$ref": "#/$defs/name"}, **Constant.fields, "requires_grad": {"type": "boolean"}},
    )

    def __post_init__(self) -> None:
        """Check name, value and flag."""
        check_identifier(self.name)
        check_type("value", self.value, Constant)
        check_type("requires_grad", self.requires_grad, bool)

    @property
    def defines(self) -> str:
        """The leaf's name."""
        return self.name

    @property
    def uses(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def check(self, scope: Scope) -> None:
        """Define the name, and remember what it holds, and whether it requires grad."""
        scope.define(self.name)
        scope.constants[self.name] = self.value
        if self.requires_grad:
            scope.leaves.add(self.name)

    def to_text(self) -> str:
        """Return the canonical line."""
        flag = " requires_grad" if self.requires_grad else ""
        return f"{self.name} = leaf {self.value.to_text()}{flag}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `NAME = leaf DTYPE[SHAPE] {VALUES} [requires_grad]`."""
        name = cursor.take_identifier("a name")
        cursor.expect("=")
        cursor.expect("leaf")
        value = Constant.from_text(cursor)
        return cls(name, value, cursor.accept("requires_grad"))

    def to_json(self) -> dict[str, Any]:
        """Return name, dtype, shape, values and requires_grad."""
        return {"name": self.name, **self.value.to_json(), "requires_grad": self.requires_grad}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        return cls(members["name"], Constant.from_json(members), members["requires_grad"])
