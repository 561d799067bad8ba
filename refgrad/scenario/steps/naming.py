"""How is a step written that consists of words and one name?"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Step
from refgrad.scenario.tokens import Cursor


@dataclass(frozen=True, slots=True)
class NamingStep(Step):
    """A step whose line is some words and the name of a tensor that exists: `retain grad y`."""

    name: str

    assigns: ClassVar[bool] = False
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"name": {"$ref": "#/$defs/name"}})

    def __post_init__(self) -> None:
        """Check the name."""
        check_identifier(self.name)

    @classmethod
    @abstractmethod
    def words(cls) -> tuple[str, ...]:
        """Return the words before the name."""

    @property
    def uses(self) -> tuple[str, ...]:
        """The tensor."""
        return (self.name,)

    def to_text(self) -> str:
        """Return the canonical line."""
        return " ".join((*self.words(), self.name))

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read the words, then the name."""
        for word in cls.words():
            cursor.expect(word)
        return cls(cursor.take_identifier("a name"))

    def to_json(self) -> dict[str, Any]:
        """Return the name."""
        return {"name": self.name}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        return cls(members["name"])
