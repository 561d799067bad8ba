"""How does a scenario change whether a tensor requires grad?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from refgrad.scenario.step import Scope
from refgrad.scenario.steps.naming import NamingStep


@dataclass(frozen=True, slots=True)
class RequireGrad(NamingStep):
    """Let gradients flow to a tensor from here on: `require grad x`."""

    tag: ClassVar[str] = "require_grad"
    keyword: ClassVar[str] = "require"

    @classmethod
    def words(cls) -> tuple[str, ...]:
        """Return the words before the name."""
        return ("require", "grad")

    def check(self, scope: Scope) -> None:
        """Check the name, and remember that it requires grad."""
        NamingStep.check(self, scope)
        scope.leaves.add(self.name)


@dataclass(frozen=True, slots=True)
class StopRequiringGrad(NamingStep):
    """Let no gradients flow to a leaf from here on: `stop requiring grad x`."""

    tag: ClassVar[str] = "stop_requiring_grad"
    keyword: ClassVar[str] = "stop"

    @classmethod
    def words(cls) -> tuple[str, ...]:
        """Return the words before the name."""
        return ("stop", "requiring", "grad")

    def check(self, scope: Scope) -> None:
        """Check the name, and remember that it requires no grad."""
        NamingStep.check(self, scope)
        scope.leaves.discard(self.name)
