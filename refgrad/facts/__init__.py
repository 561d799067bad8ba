"""Facts: what a verdict says about an engine, with the messages, sentences and assertions that are made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Final

from refgrad.facts.arrays import Absent, Dtype, Entry, Inconsistent, Masked, Numbers, Shape, UnexpectedGradient
from refgrad.facts.behaviour import (
    Blocked,
    Calls,
    Comment,
    Died,
    Error,
    Explanation,
    Flag,
    Lacks,
    Measured,
    NotedNumber,
    Parents,
    Silence,
    Tally,
    Written,
)
from refgrad.facts.computed import Subject
from refgrad.facts.fact import Fact
from refgrad.native.observation import Raised
from refgrad.scenario import Scenario

__all__ = [
    "KINDS", "Absent", "Blocked", "Calls", "Comment", "Died", "Dtype", "Entry", "Error", "Evidence", "Explanation",
    "Fact", "Flag", "Inconsistent", "Lacks", "Masked", "Measured", "NotedNumber", "Numbers", "Parents", "Shape",
    "Silence", "Subject", "Tally", "UnexpectedGradient", "Written",
]  # fmt: skip

KINDS: Final[Mapping[str, type[Fact]]] = MappingProxyType({
    "entry": Entry, "shape": Shape, "dtype": Dtype, "masked": Masked, "absent": Absent, "error": Error,
    "silence": Silence, "flag": Flag, "calls": Calls, "unsent": UnexpectedGradient, "written": Written,
    "uncoupled": Inconsistent, "died": Died, "lacks": Lacks, "blocked": Blocked, "tally": Tally,
    "parents": Parents, "measured": Measured, "noted": NotedNumber, "remark": Comment,
})  # fmt: skip
"""Classes of facts by their kind in reports."""

KEYS: Final = MappingProxyType({"qualifier": "remark", "expected_kinds": "due", "explanation": "excuse"})
"""Keys in reports of those members of facts that have another name there."""

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
        step = ""
        if scenario is not None and self.step:
            step = f"step {self.step}, `{scenario.steps[self.step - 1].to_text()}`: "
        often = "" if self.repeatable else f" (not repeatable: seen in {self.seen} of {self.runs} runs)"
        return f"{step}{self.fact.message()}{often}"

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as a JSON object, with the fact as its member ``fact``."""
        here = {"step": self.step, "repeatable": self.repeatable, "seen_in": self.seen, "runs": self.runs}
        [kind] = [kind for kind, each in KINDS.items() if type(self.fact) is each]
        members = {KEYS.get(name, name): value for name, value in asdict(self.fact).items()}  # type: ignore[call-overload]
        return {**here, "fact": json.loads(json.dumps({"kind": kind, **members}))}  # JSON turns tuples into lists

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Evidence:
        """Read what ``to_json`` returns. Raises TypeError for unknown or missing members and kinds."""
        try:
            names = {key: name for name, key in KEYS.items()}
            fact = {names.get(key, key): _read(value, NESTED.get(key)) for key, value in row["fact"].items()}
            return cls(KINDS[fact.pop("kind")](**fact), row.get("step", 0), row.get("seen_in", 1), row.get("runs", 1))
        except (KeyError, AttributeError) as error:
            raise TypeError(f"evidence lacks {error}") from error


def _read(value: Any, nested: type[Any] | None = None) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_read(each, nested) for each in value)
    if nested is not None and isinstance(value, Mapping):
        return nested(**{name: _read(each) for name, each in value.items()})
    return value
