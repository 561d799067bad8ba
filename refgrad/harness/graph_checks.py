"""What is the verdict of random graphs on an engine? They are made of the operators that are right by themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, Protocol

from refgrad.generation import (
    GenerationError,
    Profile,
    double_backward_scenario,
    operator_scenario,
    random_scenario,
    with_dtypes,
)
from refgrad.harness.checks import Check, GraphCheck
from refgrad.harness.examination import examine
from refgrad.harness.settings import Settings
from refgrad.harness.verdict import Outcome, Verdict
from refgrad.native.engine import Engine
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Scenario

KEPT_DTYPES: Final = "dtypes/gradients_keep"
"""The behaviour without which nothing that an engine does in another dtype than float64 is right."""

MIXED_DTYPES: Final = "dtypes/mixed"
"""And the one for graphs of two dtypes."""

LEFT_ALONE: Final = frozenset({"linear_algebra"})
"""Families that are tried by themselves only: in a graph, matrices are all but singular, and libraries refuse them."""

TRIED_IN_DTYPE: Final = 3
"""So many scenarios tell whether an operator runs at all."""


class Grader(Protocol):
    """What is known of an engine so far, as :class:`refgrad.harness.grading.Grader` finds it."""

    engine: Engine
    settings: Settings

    @property
    def takes_seeds(self) -> bool:
        """Whether seeds can be relied on."""

    def reliable(self, behaviours: str) -> bool:
        """Whether the engine shows the right arrays in all behaviours of this prefix."""

    def reliable_on(self, behaviours: str, operators: frozenset[str]) -> bool:
        """Whether it does in those that use these operators."""

    def sound(self, operator: Operator) -> bool:
        """Whether an operator is there and right by itself."""

    def bends(self, operator: Operator) -> bool:
        """Whether an operator is right by itself at first and at second order."""

    def offers(self, operator: Operator) -> bool:
        """Whether the engine has an operator."""

    def of_operator(self, operator: Operator) -> Verdict:
        """The verdict on one operator's value and gradient."""

    def of_second_order(self, operator: Operator) -> Verdict:
        """The verdict on its second derivatives."""

    def isolated(self, scenario: Scenario) -> Scenario:
        """The scenario without what the engine gets wrong around an operator."""

    def seeded(self, scenario: Scenario) -> Scenario:
        """The scenario without seeds, if they cannot be relied on."""

    def profile(self, **fields: Any) -> Profile:
        """What the engine's scenarios may contain."""

    def search(self, check: Check, make: Callable[[int], Scenario], examples: int) -> Verdict:
        """Try scenarios, and show the smallest that fails."""

    def verdict(self, check: Check, outcome: Outcome, message: str = "") -> Verdict:
        """A verdict without a scenario."""


def judge_graphs(grader: Grader, check: GraphCheck) -> Verdict:
    """Try random graphs of the check's kind."""
    features = grader.engine.adapter.features
    if check.dtype != "float64":
        return _of_precision(grader, check)
    if check.kind == "double_backward":
        return _of_double_backward(grader, check)
    several = check.kind == "several_backwards"
    if several and not {"accumulate", "retain_graph"} <= features:
        return grader.verdict(check, "unsupported", message="the engine has no accumulate or no retain_graph")
    profile = _profile(grader, _sound(grader), several=several)
    return _search(grader, check, lambda seed: random_scenario(seed, profile))


def _of_double_backward(grader: Grader, check: GraphCheck) -> Verdict:
    if "double_backward" not in grader.engine.adapter.features:
        return grader.verdict(check, "unsupported", message="the engine has no double_backward")
    profile = grader.profile(
        operators=frozenset(o.name for o in operator_table().values() if grader.bends(o) and o.family not in LEFT_ALONE)
    )
    return _search(grader, check, lambda seed: grader.seeded(double_backward_scenario(seed, profile)))


def _of_precision(grader: Grader, check: GraphCheck) -> Verdict:
    """Try graphs of other dtypes; what goes wrong in float64 too is for the other kinds of graphs to say."""
    adapter = grader.engine.adapter
    dtypes = [check.dtype] if check.wider is None else [check.dtype, check.wider]
    lacking = [dtype for dtype in dtypes if dtype not in adapter.dtypes]
    if lacking:
        return grader.verdict(check, "unsupported", message=f"the engine has no dtype {', no dtype '.join(lacking)}")
    for behaviours in (KEPT_DTYPES,) if check.wider is None else (KEPT_DTYPES, MIXED_DTYPES):
        if not grader.reliable(behaviours):
            return grader.verdict(check, "inconclusive", message=f"{behaviours} fails already")
    offered = [name for name in _sound(grader) if _offers_in(grader, operator_table()[name], check)]
    several = {"accumulate", "retain_graph"} <= adapter.features
    profile = _profile(grader, offered, several=several, dtype=check.dtype, wider=check.wider)
    return _search(grader, check, lambda seed: random_scenario(seed, profile))


def _sound(grader: Grader) -> list[str]:
    rows = (row for row in operator_table().values() if row.family not in LEFT_ALONE)
    return [row.name for row in rows if grader.sound(row)]


def _profile(grader: Grader, operators: Collection[str], *, several: bool, **fields: Any) -> Profile:
    return grader.profile(
        seeds=grader.takes_seeds and not grader.engine.adapter.scalars_only,
        operators=frozenset(operators),
        max_backwards=3 if several else 1,
        accumulate=several,
        **fields,
    )


def _offers_in(grader: Grader, operator: Operator, check: GraphCheck) -> bool:
    """Whether an operator runs in a dtype: libraries leave some out, and say so by errors of any kind."""
    profile = grader.profile(
        seeds=True, operators=frozenset({operator.name}), empty=0.0, dtype=check.dtype, wider=check.wider
    )
    tried = (grader.isolated(operator_scenario(seed, operator.name, profile)) for seed in range(TRIED_IN_DTYPE))
    outcomes = {examine(scenario, grader.engine).outcome for scenario in tried}
    return not outcomes & {"unexpected-error", "unsupported"}


def _search(grader: Grader, check: GraphCheck, make: Callable[[int], Scenario]) -> Verdict:
    try:
        return grader.search(check, make, grader.settings.effort.per_graph_check)
    except GenerationError as error:
        message = f"cannot be judged by the operators that are right: {error}"
        return grader.verdict(check, "inconclusive", message=message)


def belongs_to_dtype(check: Check, scenario: Scenario, engine: Engine, outcome: Outcome) -> bool:
    """Whether a failure is this check's: one about a dtype leaves to others what fails in float64 too.

    A refusal is none: libraries leave operators out of a dtype, for some attributes or in company of another dtype.
    """
    if not isinstance(check, GraphCheck) or check.dtype == "float64":
        return True
    if outcome == "unexpected-error":
        return False
    return not examine(with_dtypes(scenario, lambda _: "float64"), engine).failed
