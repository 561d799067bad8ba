"""How does a scenario hook itself into a tensor's gradient?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Self

from refgrad.scenario.errors import ScenarioError, check_type, quoted
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.numerals import read_float, write_float
from refgrad.scenario.step import Scope, Step
from refgrad.scenario.tokens import Cursor


@dataclass(frozen=True, slots=True)
class Hook(Step):
    """See a tensor's gradient in every backward, or replace it by a multiple of it: `hook h on y scale 0x1p+1`.

    `hook h on y observe` changes nothing. Both see the total that arrives at the tensor, once a backward, as hooks that
    were there before them leave it; `read hook h` shows all that the hook saw.
    """

    name: str
    tensor: str
    factor: float | None = None

    tag: ClassVar[str] = "hook"
    keyword: ClassVar[str] = "hook"
    assigns: ClassVar[bool] = False
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "name": {"$ref": "#/$defs/name"},
            "tensor": {"$ref": "#/$defs/name"},
            "factor": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/number"}]},
        },
    )

    def __post_init__(self) -> None:
        """Check names and factor."""
        check_identifier(self.name)
        check_identifier(self.tensor)
        check_type("factor", self.factor, float, NoneType)
        if self.factor is not None and not math.isfinite(self.factor):
            raise ScenarioError(f"the factor of a hook must be finite, not {self.factor}")

    @property
    def uses(self) -> tuple[str, ...]:
        """The tensor."""
        return (self.tensor,)

    def check(self, scope: Scope) -> None:
        """Check the tensor, and define the hook's name."""
        scope.use(self.tensor)
        scope.define_hook(self.name)

    def to_text(self) -> str:
        """Return the canonical line."""
        action = "observe" if self.factor is None else f"scale {write_float(self.factor)}"
        return f"hook {self.name} on {self.tensor} {action}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `hook NAME on TENSOR observe` or `hook NAME on TENSOR scale FACTOR`."""
        cursor.expect("hook")
        name = cursor.take_identifier("the hook's name")
        cursor.expect("on")
        tensor = cursor.take_identifier("a name")
        action = cursor.take("observe or scale")
        if action == "observe":
            return cls(name, tensor)
        if action != "scale":
            raise ScenarioError(f"a hook can observe or scale, not {quoted(action)}")
        return cls(name, tensor, read_float(cursor.take("a factor")))

    def to_json(self) -> dict[str, Any]:
        """Return name, tensor, and the factor spelled as in the text form."""
        factor = None if self.factor is None else write_float(self.factor)
        return {"name": self.name, "tensor": self.tensor, "factor": factor}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        factor = None if members["factor"] is None else read_float(members["factor"])
        return cls(members["name"], members["tensor"], factor)
