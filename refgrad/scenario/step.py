"""What must every kind of step be able to do?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from refgrad.operators import Operator
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError, quoted, suggestion
from refgrad.scenario.tokens import Cursor


class Scope:
    """The names that exist at one point of a scenario, which are leaves that require grad, and the operators.

    Hooks have names too. ``constants`` are what leaves were made of; ``depth`` counts the regions that were entered and
    not left.
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

    def use_hook(self, name: str) -> None:
        """Refuse a name that is not a hook's."""
        if name not in self.hooks:
            raise ScenarioError(f"{quoted(name)} is not a hook{suggestion(name, self.hooks)}")

    def use(self, name: str) -> None:
        """Refuse a name that no earlier step defines, or that was deleted since."""
        if name in self.deleted:
            raise ScenarioError(f"{quoted(name)} was deleted by an earlier step")
        if name not in self.names:
            raise ScenarioError(f"{quoted(name)} is not defined by an earlier step{suggestion(name, self.names)}")


class Step(ABC):
    """One action of a scenario: a frozen dataclass that checks itself, and knows its text and its JSON form.

    A new kind of step is a subclass in a file of its own, and its name in `refgrad.scenario.vocabulary.STEPS`.
    """

    __slots__ = ()

    tag: ClassVar[str]
    """The member "step" of the JSON form."""
    keyword: ClassVar[str]
    """The word that begins its line, or that follows `NAME =` when `assigns`; any other word there is an operator."""
    assigns: ClassVar[bool]
    """Whether its line has the form `NAME = ...`."""
    fields: ClassVar[Mapping[str, Mapping[str, Any]]]
    """The JSON Schema of every other member of the JSON form."""
    optional: ClassVar[frozenset[str]] = frozenset()
    """The members that may be left out; all others are required."""

    @property
    def defines(self) -> str | None:
        """The name that exists from here on, or None."""
        return None

    @property
    @abstractmethod
    def uses(self) -> tuple[str, ...]:
        """The names that must exist already, in the order in which they are written."""

    def check(self, scope: Scope) -> None:
        """Refuse this step where it cannot stand, else change the scope as it does."""
        for name in self.uses:
            scope.use(name)
        if self.defines is not None:
            scope.define(self.defines)

    @abstractmethod
    def to_text(self) -> str:
        """Return the canonical line, without its end."""

    @classmethod
    @abstractmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read the whole line that `to_text` writes."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the members that `fields` describes."""

    @classmethod
    @abstractmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read the members that `to_json` returns; they already satisfy `fields`."""
