"""What is the verdict on a behaviour? That of its scenarios, or of its probe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from refgrad.harness.probe_checks import judge_probe
from refgrad.harness.verdict import Verdict, worst
from refgrad.operators import operator_table
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.harness.checks import BehaviourCheck
    from refgrad.harness.grading import Grader

ABOUT_OPERATORS: Final = frozenset({"shapes"})
"""Chapters of behaviours whose scenarios try one operator each."""


def judge_behaviour(grader: Grader, check: BehaviourCheck) -> Verdict:
    """Try each scenario that the engine can run; what an operator does by itself is not the behaviour's fault."""
    if check.behaviour.probing is not None:
        return judge_probe(grader, check, check.behaviour.probing)
    given = check.behaviour.scenarios
    tried = [grader.isolated(s) for s in given] if check.behaviour.chapter in ABOUT_OPERATORS else given
    scenarios = [s for s in tried if grader.runnable(s)]
    if not scenarios:
        lacking = grader.lacking(tried[0])
        return grader.verdict(check, "unsupported", message=f"the engine has no {', no '.join(lacking)}")
    findings = [(grader.examined(scenario, check.id), scenario) for scenario in scenarios]
    blamed = {scenario: _blamed(grader, scenario) for finding, scenario in findings if finding.failed}
    finding = worst([f for f, s in findings if not blamed.get(s)])
    if any(blamed.values()) and not finding.failed:
        culprit = next(names[0] for names in blamed.values() if names)
        message = f"cannot be judged: {culprit} fails by itself"
        return grader.verdict(check, "inconclusive", message=message, examples=len(scenarios))
    scenario = next(s for f, s in findings if f is finding) if finding.outcome != "passed" else None
    return grader.shown(check, finding, scenario, len(scenarios))


def _blamed(grader: Grader, scenario: Scenario) -> list[str]:
    table = operator_table()
    verdicts = [grader.of_operator(table[name]) for name in sorted(scenario.operators)]
    if scenario.gradients:
        verdicts += [grader.of_second_order(table[name]) for name in sorted(scenario.operators)]
    return [verdict.id for verdict in verdicts if verdict.failed]
