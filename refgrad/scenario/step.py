"""What must every kind of step be able to do?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from refgrad.operators import Operator
from refgrad.scenario.errors import ScenarioError, quoted, suggestion
from refgrad.scenario.tokens import Cursor


class Scope:
    """The names that exist at one point of a scenario, which are leaves that require grad, and the operators."""

    __slots__ = ("leaves", "names", "operators")

    def __init__(self, operators: Mapping[str, Operator]) -> None:
        """Begin without names."""
        self.operators = operators
        self.names: set[str] = set()
        self.leaves: set[str] = set()

    def define(self, name: str) -> None:
        """Add a name, which must be new."""
        if name in self.names:
            raise ScenarioError(f"{quoted(name)} is already defined")
        self.names.add(name)

    def use(self, name: str) -> None:
        """Refuse a name that no earlier step defines."""
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
    """The JSON Schema of every other member of the JSON form; all of them are required."""

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
