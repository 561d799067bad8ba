"""How does a scenario switch recording off and on?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Self

from refgrad.scenario.errors import ScenarioError, check_type, quoted
from refgrad.scenario.step import Scope, Step
from refgrad.scenario.tokens import Cursor

MODES: Final = ("no_grad", "enable_grad")


@dataclass(frozen=True, slots=True)
class Enter(Step):
    """Enter a region in which nothing, or again everything, is recorded: `enter no_grad`, `enter enable_grad`."""

    mode: Literal["no_grad", "enable_grad"]

    tag: ClassVar[str] = "enter"
    keyword: ClassVar[str] = "enter"
    assigns: ClassVar[bool] = False
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"mode": {"enum": list(MODES)}})

    def __post_init__(self) -> None:
        """Check the mode."""
        if self.mode not in MODES:
            raise ScenarioError(f"{quoted(self.mode)} cannot be entered, only {' or '.join(MODES)} can")

    @property
    def uses(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def check(self, scope: Scope) -> None:
        """Remember that the region has to be left."""
        scope.depth += 1

    def to_text(self) -> str:
        """Return the canonical line."""
        return f"enter {self.mode}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `enter no_grad` or `enter enable_grad`."""
        cursor.expect("enter")
        mode: Any = cursor.take("no_grad or enable_grad")
        return cls(mode)

    def to_json(self) -> dict[str, Any]:
        """Return the mode."""
        return {"mode": self.mode}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        return cls(members["mode"])


@dataclass(frozen=True, slots=True)
class Leave(Step):
    """Leave the region that was entered last: `leave`, or by an exception that is caught outside: `leave by error`."""

    by_error: bool = False

    tag: ClassVar[str] = "leave"
    keyword: ClassVar[str] = "leave"
    assigns: ClassVar[bool] = False
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"by_error": {"type": "boolean"}})

    def __post_init__(self) -> None:
        """Check the flag."""
        check_type("by_error", self.by_error, bool)

    @property
    def uses(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def check(self, scope: Scope) -> None:
        """Check that there is a region to leave."""
        if scope.depth == 0:
            raise ScenarioError("there is no region to leave")
        scope.depth -= 1

    def to_text(self) -> str:
        """Return the canonical line."""
        return "leave by error" if self.by_error else "leave"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `leave` or `leave by error`."""
        cursor.expect("leave")
        by_error = cursor.accept("by")
        if by_error:
            cursor.expect("error")
        return cls(by_error)

    def to_json(self) -> dict[str, Any]:
        """Return how the region is left."""
        return {"by_error": self.by_error}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        return cls(members["by_error"])
