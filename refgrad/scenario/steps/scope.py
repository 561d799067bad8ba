"""The names that exist at one point of a scenario."""

from __future__ import annotations

from collections.abc import Mapping

from refgrad.errors import suggestion
from refgrad.operators import Operator
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError, quoted


class Scope:
    """The names that exist at one point of a scenario, which are leaves that require grad, and the operators.

    Hooks have names too. ``constants`` are what leaves were made of; ``depth`` counts the regions that were entered and
    not left. A method that raises ScenarioError has changed nothing.
    """

    __slots__ = ("constants", "deleted", "depth", "hooks", "leaves", "names", "operators")

    def __init__(self, operators: Mapping[str, Operator]) -> None:
        """Begin without names."""
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
        """Take a name away for good."""
        self.use(name)
        self.names.remove(name)
        self.leaves.discard(name)
        self.deleted.add(name)

    def use(self, name: str) -> None:
        """Refuse a name that no earlier step defines, or that was deleted since."""
        if name in self.deleted:
            raise ScenarioError(f"{quoted(name)} was deleted by an earlier step")
        if name not in self.names:
            raise ScenarioError(f"{quoted(name)} is not defined by an earlier step{suggestion(name, self.names)}")

    def require_leaf(self, name: str) -> None:
        """Refuse a name that is not that of a leaf that requires grad."""
        if name not in self.leaves:
            raise ScenarioError(f"{quoted(name)} is not a leaf that requires grad")

    def use_hook(self, name: str) -> None:
        """Refuse a name that is not a hook's."""
        if name not in self.hooks:
            raise ScenarioError(f"{quoted(name)} is not a hook{suggestion(name, self.hooks)}")

    def enter(self) -> None:
        """Count a region that has to be left."""
        self.depth += 1

    def leave(self) -> None:
        """Count a region that is left; there must be one."""
        if self.depth == 0:
            raise ScenarioError("there is no region to leave")
        self.depth -= 1
