"""How does a scenario drop a tensor's name?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from refgrad.scenario.step import Scope
from refgrad.scenario.steps.naming import NamingStep


@dataclass(frozen=True, slots=True)
class Delete(NamingStep):
    """Drop a name: `delete y`. What was computed from the tensor stays; its name is never used again."""

    tag: ClassVar[str] = "delete"
    keyword: ClassVar[str] = "delete"

    @classmethod
    def words(cls) -> tuple[str, ...]:
        """Return the words before the name."""
        return ("delete",)

    def check(self, scope: Scope) -> None:
        """Check the name, and forget it."""
        NamingStep.check(self, scope)
        scope.delete(self.name)
