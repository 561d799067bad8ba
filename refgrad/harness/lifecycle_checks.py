"""What is the verdict of random lifecycles on an engine? They contain what its adapter has templates for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from refgrad.generation import ALL_FEATURES, LIFECYCLE_OPERATORS, lifecycle_profile, lifecycle_scenario
from refgrad.harness.checks import Check, LifecycleCheck
from refgrad.harness.settings import Settings
from refgrad.harness.verdict import Outcome, Verdict
from refgrad.native.adapter import STATEFUL_FEATURES, TapeAdapter
from refgrad.native.engine import Engine
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Scenario


class Grader(Protocol):
    """What is known of an engine so far, as :class:`refgrad.harness.grading.Grader` finds it."""

    engine: Engine
    settings: Settings

    def sound(self, operator: Operator) -> bool:
        """Whether an operator is there and right by itself."""

    def search(self, check: Check, make: Callable[[int], Scenario], examples: int) -> Verdict:
        """Try scenarios, and show the smallest that fails."""

    def verdict(self, check: Check, outcome: Outcome, message: str = "") -> Verdict:
        """A verdict without a scenario."""


def judge_lifecycles(grader: Grader, check: LifecycleCheck) -> Verdict:
    """Try random lifecycles, of operators that are right by themselves, and of what the engine offers."""
    adapter = grader.engine.adapter
    if not isinstance(adapter, TapeAdapter):
        return grader.verdict(check, "unsupported", message="the engine has no tape")
    offered = adapter.features & STATEFUL_FEATURES.keys()
    if not offered:
        return grader.verdict(check, "unsupported", message="the engine has no way to change a tensor or its graph")
    operators = frozenset(name for name in LIFECYCLE_OPERATORS if grader.sound(operator_table()[name]))
    if not operators:
        return grader.verdict(check, "inconclusive", message="no operator is right by itself")
    profile = lifecycle_profile(features=adapter.features & ALL_FEATURES, operators=operators)
    return grader.search(check, lambda seed: lifecycle_scenario(seed, profile), grader.settings.effort.per_graph_check)
