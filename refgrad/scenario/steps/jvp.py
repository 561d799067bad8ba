"""How does a scenario ask how fast an output changes when leaves move?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeAlias

from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError, check_type, quoted
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Scope, Step
from refgrad.scenario.tokens import Cursor

Tangent: TypeAlias = tuple[str, Constant]


@dataclass(frozen=True, slots=True)
class Jvp(Step):
    """Make the directional derivative of an output: `t = jvp y x float64[2] {0x1p+0 0x0p+0} z float64[] {0x1p+1}`.

    Each of the ``tangents`` is a leaf that requires grad and the direction that it moves in, of the leaf's shape and
    dtype; all other leaves stand still. The result is found by forward mode, has the output's shape, and is a constant
    to whatever is made of it: nothing is recorded, and no gradient changes.
    """

    name: str
    output: str
    tangents: tuple[Tangent, ...]

    tag: ClassVar[str] = "jvp"
    keyword: ClassVar[str] = "jvp"
    assigns: ClassVar[bool] = True
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "name": {"$ref": "#/$defs/name"},
            "output": {"$ref": "#/$defs/name"},
            "tangents": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {"leaf": {"$ref": "#/$defs/name"}, "tangent": {"$ref": "#/$defs/constant"}},
                    "required": ["leaf", "tangent"],
                    "additionalProperties": False,
                },
            },
        },
    )

    def __post_init__(self) -> None:
        """Check names and tangents."""
        object.__setattr__(self, "tangents", tuple(self.tangents))
        for name in (self.name, self.output, *self.leaves):
            check_identifier(name)
        for _, tangent in self.tangents:
            check_type("tangent", tangent, Constant)

    @property
    def defines(self) -> str:
        """The directional derivative's name."""
        return self.name

    @property
    def leaves(self) -> tuple[str, ...]:
        """The leaves that move, in order."""
        return tuple(leaf for leaf, _ in self.tangents)

    @property
    def uses(self) -> tuple[str, ...]:
        """The output and the leaves that move."""
        return (self.output, *self.leaves)

    def check(self, scope: Scope) -> None:
        """Check the names, and that each tangent is one of its leaf."""
        for name in self.uses:
            scope.use(name)
        if not self.tangents:
            raise ScenarioError("a jvp needs at least one leaf and its tangent")
        for leaf, tangent in self.tangents:
            _check_tangent(leaf, tangent, scope)
            if self.leaves.count(leaf) > 1:
                raise ScenarioError(f"{quoted(leaf)} has two tangents")
        scope.define(self.name)

    def to_text(self) -> str:
        """Return the canonical line."""
        tangents = (f"{leaf} {tangent.to_text()}" for leaf, tangent in self.tangents)
        return f"{self.name} = jvp {self.output} {' '.join(tangents)}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `NAME = jvp OUTPUT LEAF DTYPE[SHAPE] {VALUES} [LEAF DTYPE[SHAPE] {VALUES} ...]`."""
        name = cursor.take_identifier("a name")
        cursor.expect("=")
        cursor.expect("jvp")
        output = cursor.take_identifier("the output's name")
        tangents = [_read_tangent(cursor)]
        while not cursor.at_end():
            tangents.append(_read_tangent(cursor))
        return cls(name, output, tuple(tangents))

    def to_json(self) -> dict[str, Any]:
        """Return name, output and tangents."""
        tangents = [{"leaf": leaf, "tangent": tangent.to_json()} for leaf, tangent in self.tangents]
        return {"name": self.name, "output": self.output, "tangents": tangents}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        tangents = tuple((t["leaf"], Constant.from_json(t["tangent"])) for t in members["tangents"])
        return cls(members["name"], members["output"], tangents)


def _read_tangent(cursor: Cursor) -> Tangent:
    return cursor.take_identifier("a leaf's name"), Constant.from_text(cursor)


def _check_tangent(leaf: str, tangent: Constant, scope: Scope) -> None:
    if leaf not in scope.leaves or leaf not in scope.constants:
        raise ScenarioError(f"{quoted(leaf)} is not a leaf that requires grad")
    due = scope.constants[leaf]
    if (tangent.dtype, tangent.shape) != (due.dtype, due.shape):
        raise ScenarioError(f"the tangent of {quoted(leaf)} is {_type(tangent)}, but it should be {_type(due)}")


def _type(constant: Constant) -> str:
    return constant.to_text().partition(" {")[0]
