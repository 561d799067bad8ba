"""How does a scenario record a gradient, so that it can be differentiated again?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Self

from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError, check_type, quoted
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Scope, Step
from refgrad.scenario.tokens import Cursor


@dataclass(frozen=True, slots=True)
class Grad(Step):
    """Make a tensor of an output's gradient with respect to a leaf: `h = grad l x seed float64[2] {0x1p+0 0x0p+0}`.

    The gradient is recorded like any result; the graph is kept, and no leaf's own gradient changes.
    """

    name: str
    output: str
    leaf: str
    seed: Constant | None = None

    tag: ClassVar[str] = "grad"
    keyword: ClassVar[str] = "grad"
    assigns: ClassVar[bool] = True
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "name": {"$ref": "#/$defs/name"},
            "output": {"$ref": "#/$defs/name"},
            "leaf": {"$ref": "#/$defs/name"},
            "seed": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/constant"}]},
        },
    )

    def __post_init__(self) -> None:
        """Check names and seed."""
        for name in (self.name, self.output, self.leaf):
            check_identifier(name)
        check_type("seed", self.seed, Constant, NoneType)

    @property
    def defines(self) -> str:
        """The gradient's name."""
        return self.name

    @property
    def uses(self) -> tuple[str, ...]:
        """The output and the leaf."""
        return (self.output, self.leaf)

    def check(self, scope: Scope) -> None:
        """Check the names; the second must be that of a leaf that requires grad."""
        for name in self.uses:
            scope.use(name)
        if self.leaf not in scope.leaves:
            raise ScenarioError(f"{quoted(self.leaf)} is not a leaf that requires grad")
        scope.define(self.name)

    def to_text(self) -> str:
        """Return the canonical line."""
        seed = "" if self.seed is None else f" seed {self.seed.to_text()}"
        return f"{self.name} = grad {self.output} {self.leaf}{seed}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `NAME = grad OUTPUT LEAF [seed DTYPE[SHAPE] {VALUES}]`."""
        name = cursor.take_identifier("a name")
        cursor.expect("=")
        cursor.expect("grad")
        output = cursor.take_identifier("the output's name")
        leaf = cursor.take_identifier("the leaf's name")
        return cls(name, output, leaf, Constant.from_text(cursor) if cursor.accept("seed") else None)

    def to_json(self) -> dict[str, Any]:
        """Return name, output, leaf and seed."""
        seed = None if self.seed is None else self.seed.to_json()
        return {"name": self.name, "output": self.output, "leaf": self.leaf, "seed": seed}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        seed = None if members["seed"] is None else Constant.from_json(members["seed"])
        return cls(members["name"], members["output"], members["leaf"], seed)
