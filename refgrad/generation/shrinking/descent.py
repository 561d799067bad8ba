"""The descent of the shrinker: the scenarios that it tests, each of which depends on the results before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from refgrad.generation.shrinking.repair import Evaluated, Kept, evaluated, pruned, repaired
from refgrad.generation.shrinking.simplifications import SIMPLIFICATIONS, Steps
from refgrad.generation.shrinking.weight import weight
from refgrad.scenario import Scenario

Next: TypeAlias = "Callable[[], Question | None]"


class Question:
    """The question whether a simpler scenario still fails. The next question is computed on first use and cached."""

    def __init__(self, scenario: Scenario, after_yes: Next, after_no: Next) -> None:
        """Take the scenario, and the functions that compute the next question after a yes and after a no."""
        self.scenario = scenario
        self._after_yes = after_yes
        self._after_no = after_no

    @cached_property
    def after_yes(self) -> Question | None:
        """Next question if this scenario fails, or None at the end."""
        return self._after_yes()

    @cached_property
    def after_no(self) -> Question | None:
        """Next question if this scenario does not fail, or None at the end."""
        return self._after_no()


def first_question(start: Evaluated) -> Question | None:
    """Return the first question about a scenario that fails, or None if nothing simpler is known.

    The descent is greedy and deterministic: a candidate that fails and is simpler replaces the current scenario. Kinds
    of simplification take turns, each until it yields nothing more, in rounds until one changes nothing. No scenario is
    tested twice.
    """
    kept = Kept(start.proper, start.clear, pruned=True)
    least = _pruned(start)
    if least is None:
        return _begun(start, kept, frozenset())
    asked = frozenset([least.scenario.text])
    return Question(
        least.scenario,
        lambda: _begun(least, kept, asked),
        lambda: _begun(start, replace(kept, pruned=False), asked),
    )


def _pruned(start: Evaluated) -> Evaluated | None:
    """Return the scenario without leaves and results that nothing needs, or None if it has none."""
    needed = pruned(start.scenario.steps)
    return None if needed == start.scenario.steps else evaluated(Scenario(needed))


@dataclass(frozen=True, slots=True)
class _Stage:
    """A scenario that fails, the current kind of simplification, and whether this round has changed anything."""

    current: Evaluated
    kept: Kept
    weight: tuple[Any, ...]
    kind: int
    changed: bool

    @property
    def candidates(self) -> Iterator[Steps]:
        return SIMPLIFICATIONS[self.kind](self.current)

    @property
    def following(self) -> _Stage | None:
        if self.kind + 1 < len(SIMPLIFICATIONS):
            return replace(self, kind=self.kind + 1)
        return replace(self, kind=0, changed=False) if self.changed else None

    def improved(self, candidate: Evaluated) -> _Stage:
        return replace(self, current=candidate, weight=weight(candidate.scenario), changed=True)


def _begun(start: Evaluated, kept: Kept, seen: frozenset[str]) -> Question | None:
    stage = _Stage(start, kept, weight(start.scenario), kind=0, changed=False)
    return _asked(stage, stage.candidates, seen)


def _asked(stage: _Stage | None, candidates: Iterator[Steps], seen: frozenset[str]) -> Question | None:
    """Return the question about the next candidate that is simpler and was not tested before.

    The iterator of candidates is shared with the question after a no. Only that one continues it.
    """
    while stage is not None:
        for steps in candidates:
            candidate = repaired(steps, stage.kept)
            if (
                candidate is not None
                and candidate.scenario.text not in seen
                and weight(candidate.scenario) < stage.weight
            ):
                return _question(stage, candidates, candidate, seen | {candidate.scenario.text})
        stage = stage.following
        candidates = iter(()) if stage is None else stage.candidates
    return None


def _question(stage: _Stage, candidates: Iterator[Steps], candidate: Evaluated, seen: frozenset[str]) -> Question:
    def after_yes() -> Question | None:
        improved = stage.improved(candidate)
        return _asked(improved, improved.candidates, seen)

    return Question(candidate.scenario, after_yes, lambda: _asked(stage, candidates, seen))
