"""Check of random lifecycles, which use everything that the adapter has templates for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from refgrad.generation import ALL_FEATURES, LIFECYCLE_OPERATORS, lifecycle_profile, lifecycle_scenario
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.operators.derivatives import sound
from refgrad.grading.judging.evidence import Remark
from refgrad.grading.judging.verdict import Level, Verdict
from refgrad.native.adapter import STATEFUL_FEATURES, TapeAdapter
from refgrad.operators import operator_table

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench


@dataclass(frozen=True, slots=True)
class LifecycleCheck(Check):
    """Check of random lifecycles of a graph with all features that an engine offers for them."""

    level: Level = "MUST"

    @property
    def id(self) -> str:
        """Id of the check, ``lifecycles/random``."""
        return "lifecycles/random"

    @property
    def statement(self) -> str:
        """Statement that the engine must fulfil."""
        return (
            "Whatever is built, freed, detached, overwritten, hooked and switched in whatever order, every step shows "
            "what it must, and fails where it must."
        )

    @property
    def draws(self) -> bool:
        """Return True."""
        return True

    def run(self, bench: Bench) -> Verdict:
        """Try random lifecycles of operators that are right by themselves, with the features of the engine."""
        adapter = bench.engine.adapter
        if not isinstance(adapter, TapeAdapter):
            return bench.lacks(self, "tape")
        if not adapter.features & STATEFUL_FEATURES.keys():
            return bench.lacks(self, "way to change a tensor or its graph")
        operators = frozenset(name for name in LIFECYCLE_OPERATORS if sound(bench, operator_table()[name]))
        if not operators:
            return bench.verdict(self, "inconclusive", Remark(text="no operator is right by itself"))
        profile = lifecycle_profile(features=adapter.features & ALL_FEATURES, operators=operators)
        return bench.search(self, lambda seed: lifecycle_scenario(seed, profile), bench.settings.effort.per_graph_check)
