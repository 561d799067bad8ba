"""The names that exist at one step of a scenario."""

from __future__ import annotations

from collections.abc import Mapping

from refgrad.errors import suggestion
from refgrad.operators import Operator
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError, quoted


class Scope:
    """The names that exist at one step of a scenario, the leaves among them that require grad, and the operators.

    Hooks have names too. ``constants`` are the values of leaves; ``depth`` counts the regions that were entered and not
    left. A method that raises ScenarioError has changed nothing.
    """

    __slots__ = ("constants", "deleted", "depth", "hooks", "leaves", "names", "operators")

    def __init__(self, operators: Mapping[str, Operator]) -> None:
        """Start without names."""
        self.operators = operators
        self.names: set[str] = set()
        self.leaves: set[str] = set()
        self.constants: dict[str, Constant] = {}
        self.hooks: set[str] = set()
        self.deleted: set[str] = set()
        self.depth = 0

    def define(self, name: str) -> None:
        """Add a name, which must be new."""
        self._refuse_known(name)
        self.names.add(name)

    def define_hook(self, name: str) -> None:
        """Add the name of a hook, which must be new."""
        self._refuse_known(name)
        self.hooks.add(name)

    def _refuse_known(self, name: str) -> None:
        if name in self.names or name in self.hooks or name in self.deleted:
            raise ScenarioError(f"{quoted(name)} is already defined")

    def delete(self, name: str) -> None:
        """Remove a name, which cannot be defined again."""
        self.use(name)
        self.names.remove(name)
        self.leaves.discard(name)
        self.deleted.add(name)

    def use(self, name: str) -> None:
        """Raise ScenarioError unless an earlier step defines the name and none has deleted it."""
        if name in self.deleted:
            raise ScenarioError(f"{quoted(name)} was deleted by an earlier step")
        if name not in self.names:
            raise ScenarioError(f"{quoted(name)} is not defined by an earlier step{suggestion(name, self.names)}")

    def require_leaf(self, name: str) -> None:
        """Raise ScenarioError unless the name is that of a leaf that requires grad."""
        if name not in self.leaves:
            raise ScenarioError(f"{quoted(name)} is not a leaf that requires grad")

    def use_hook(self, name: str) -> None:
        """Raise ScenarioError unless the name is that of a hook."""
        if name not in self.hooks:
            raise ScenarioError(f"{quoted(name)} is not a hook{suggestion(name, self.hooks)}")

    def enter(self) -> None:
        """Enter a region, which must be left later."""
        self.depth += 1

    def leave(self) -> None:
        """Leave a region. Raises ScenarioError if none was entered."""
        if self.depth == 0:
            raise ScenarioError("there is no region to leave")
        self.depth -= 1
