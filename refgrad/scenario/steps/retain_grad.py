"""How does a scenario ask a computed tensor to keep its gradient?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from refgrad.scenario.steps.naming import NamingStep


@dataclass(frozen=True, slots=True)
class RetainGrad(NamingStep):
    """Let a computed tensor keep its gradient, so that it can be read: `retain grad y`."""

    tag: ClassVar[str] = "retain_grad"
    keyword: ClassVar[str] = "retain"

    @classmethod
    def words(cls) -> tuple[str, ...]:
        """Return the words before the name."""
        return ("retain", "grad")
