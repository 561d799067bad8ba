"""Facts: what a verdict says about an engine, with the messages, sentences and assertions that are made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Final

from refgrad.facts.arrays import Absent, Dtype, Entry, Masked, Numbers, Shape, Uncoupled, Unsent
from refgrad.facts.behaviour import (
    Blocked,
    Calls,
    Died,
    Error,
    Excuse,
    Flag,
    Lacks,
    Measured,
    Parents,
    Remark,
    Silence,
    Tally,
    Written,
)
from refgrad.facts.computed import Subject
from refgrad.facts.fact import Fact
from refgrad.native.observation import Raised
from refgrad.scenario import Scenario

__all__ = [
    "KINDS", "Absent", "Blocked", "Calls", "Died", "Dtype", "Entry", "Error", "Evidence", "Excuse", "Fact", "Flag",
    "Lacks", "Masked", "Measured", "Numbers", "Parents", "Remark", "Shape", "Silence", "Subject", "Tally",
    "Uncoupled", "Unsent", "Written",
]  # fmt: skip

KINDS: Final[Mapping[str, type[Fact]]] = MappingProxyType({
    each.__name__.lower(): each
    for each in (
        Entry, Shape, Dtype, Masked, Absent, Error, Silence, Flag, Calls, Unsent, Written, Uncoupled, Died, Lacks,
        Blocked, Tally, Parents, Measured, Remark,
    )
})  # fmt: skip
"""Classes of facts by kind, which is the name of the class in small letters."""

NESTED: Final[Mapping[str, type[Subject | Raised | Numbers]]] = MappingProxyType({
    "subject": Subject,
    "error": Raised,
    "gradients": Numbers,
    "direction": Numbers,
})
"""Classes of the members of facts that are objects themselves, by name."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact, the step that showed it (from 1, or 0 for no step), and the number of runs that did, of all runs."""

    fact: Fact
    step: int = 0
    seen: int = 1
    runs: int = 1

    @property
    def repeatable(self) -> bool:
        """Return True if every run showed the fact."""
        return self.seen == self.runs

    def message(self, scenario: Scenario | None = None) -> str:
        """Describe the evidence; given the scenario, the description names the step that showed it."""
        place = ""
        if scenario is not None and self.step:
            place = f"step {self.step}, `{scenario.steps[self.step - 1].to_text()}`: "
        often = "" if self.repeatable else f" (not repeatable: seen in {self.seen} of {self.runs} runs)"
        return f"{place}{self.fact.message()}{often}"

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as a JSON object, with the fact as its member ``fact``."""
        here = {"step": self.step, "repeatable": self.repeatable, "seen_in": self.seen, "runs": self.runs}
        members = {"kind": type(self.fact).__name__.lower(), **asdict(self.fact)}  # type: ignore[call-overload]
        return {**here, "fact": json.loads(json.dumps(members))}  # with lists for tuples

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Evidence:
        """Read what ``to_json`` returns. Raises TypeError for unknown or missing members and kinds."""
        try:
            fact = row["fact"]
            members = {name: _read(value, NESTED.get(name)) for name, value in fact.items() if name != "kind"}
            return cls(KINDS[fact["kind"]](**members), row.get("step", 0), row.get("seen_in", 1), row.get("runs", 1))
        except (KeyError, AttributeError) as error:
            raise TypeError(f"evidence lacks {error}") from error


def _read(value: Any, nested: type[Any] | None = None) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_read(each, nested) for each in value)
    if nested is not None and isinstance(value, Mapping):
        return nested(**{name: _read(each) for name, each in value.items()})
    return value
