"""How does a scenario run backward?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Self

from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import check_type
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Step
from refgrad.scenario.tokens import Cursor


@dataclass(frozen=True, slots=True)
class Backward(Step):
    """Add the gradients of an output to its leaves: `backward b seed float64[2] {0x1p+0 -0x1p+1} retain_graph`."""

    output: str
    seed: Constant | None = None
    retain_graph: bool = False

    tag: ClassVar[str] = "backward"
    keyword: ClassVar[str] = "backward"
    assigns: ClassVar[bool] = False
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "output": {"$ref": "#/$defs/name"},
            "seed": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/constant"}]},
            "retain_graph": {"type": "boolean"},
        },
    )

    def __post_init__(self) -> None:
        """Check name, seed and flag."""
        check_identifier(self.output)
        check_type("seed", self.seed, Constant, NoneType)
        check_type("retain_graph", self.retain_graph, bool)

    @property
    def uses(self) -> tuple[str, ...]:
        """The output."""
        return (self.output,)

    def to_text(self) -> str:
        """Return the canonical line."""
        seed = "" if self.seed is None else f" seed {self.seed.to_text()}"
        return f"backward {self.output}{seed}{' retain_graph' if self.retain_graph else ''}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `backward OUTPUT [seed DTYPE[SHAPE] {VALUES}] [retain_graph]`."""
        cursor.expect("backward")
        output = cursor.take_identifier("the output's name")
        seed = Constant.from_text(cursor) if cursor.accept("seed") else None
        return cls(output, seed, cursor.accept("retain_graph"))

    def to_json(self) -> dict[str, Any]:
        """Return output, seed and retain_graph."""
        seed = None if self.seed is None else self.seed.to_json()
        return {"output": self.output, "seed": seed, "retain_graph": self.retain_graph}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        seed = None if members["seed"] is None else Constant.from_json(members["seed"])
        return cls(members["output"], seed, members["retain_graph"])
