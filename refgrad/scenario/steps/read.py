"""How does a scenario observe a gradient or a value?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias

from refgrad.scenario.errors import ScenarioError, quoted
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Scope, Step
from refgrad.scenario.tokens import Cursor

READABLE: Final = ("grad", "value", "requires_grad", "is_leaf", "recorded", "hook")
Readable: TypeAlias = Literal["grad", "value", "requires_grad", "is_leaf", "recorded", "hook"]


@dataclass(frozen=True, slots=True)
class Read(Step):
    """Observe a tensor at this point, or what a hook saw: `read grad x`, `read value b`, `read hook h`.

    Of a tensor ``requires_grad``, ``is_leaf`` and ``recorded`` (whether it was computed by a recorded operation) can be
    read too. What a hook saw is an array of all the gradients, in order, along a new first axis.
    """

    what: Readable
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
            raise ScenarioError(f"{quoted(self.what)} is not {', '.join(READABLE[:-1])} or {READABLE[-1]}")
        check_identifier(self.name)

    @property
    def uses(self) -> tuple[str, ...]:
        """The tensor that is read."""
        return () if self.what == "hook" else (self.name,)

    def check(self, scope: Scope) -> None:
        """Check the name, which is that of a tensor or of a hook."""
        if self.what == "hook":
            scope.use_hook(self.name)
        Step.check(self, scope)

    def to_text(self) -> str:
        """Return the canonical line."""
        return f"read {self.what} {self.name}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `read WHAT NAME`."""
        cursor.expect("read")
        what: Any = cursor.take(" or ".join(READABLE))
        return cls(what, cursor.take_identifier("a name"))

    def to_json(self) -> dict[str, Any]:
        """Return what and name."""
        return {"what": self.what, "name": self.name}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        return cls(members["what"], members["name"])
