"""How does a scenario take a hook away?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from refgrad.scenario.step import Scope
from refgrad.scenario.steps.naming import NamingStep


@dataclass(frozen=True, slots=True)
class Unhook(NamingStep):
    """Call a hook no more: `unhook h`. What it saw can still be read; doing so twice changes nothing."""

    tag: ClassVar[str] = "unhook"
    keyword: ClassVar[str] = "unhook"

    @classmethod
    def words(cls) -> tuple[str, ...]:
        """Return the words before the name."""
        return ("unhook",)

    @property
    def uses(self) -> tuple[str, ...]:
        """No tensor."""
        return ()

    def check(self, scope: Scope) -> None:
        """Check that the name is a hook's."""
        scope.use_hook(self.name)
