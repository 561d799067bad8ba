"""Does one operator's backward rule keep its contract, can it be differentiated twice, and is there a forward rule?"""

from __future__ import annotations

from typing import Final

from refgrad.generation import LAYOUTS, contract_scenario, forward_scenario, third_order_scenario, without_tangents
from refgrad.harness.checks import Check, ContractCheck, ForwardModeCheck, ThirdOrderCheck
from refgrad.harness.examination import examine
from refgrad.harness.graph_checks import Grader
from refgrad.harness.verdict import Outcome, Verdict
from refgrad.native.engine import Engine
from refgrad.operators import operator_table
from refgrad.scenario import Scenario

NEEDED: Final = "multiply"
"""The operator by which the other walk reaches one leaf alone."""

WELCOME: Final = ("sum", *LAYOUTS)
"""The operators by which the output's cotangent is one array seen often, and by which operands are views."""

NEEDED_FEATURES: Final = frozenset({"accumulate", "retain_graph"})

CONTRACT_FOUNDATIONS: Final = ("sharing/", "values/", "leaves/", "accumulation/", "retain_graph/")
"""The behaviours without which a second walk is wrong whatever the operator's rule does."""


FORWARD_FOUNDATIONS: Final = ("sharing/", "values/", "leaves/")
"""The behaviours without which neither direction is right at the same point, whatever the operator's rules do."""

APART: Final = "contracts/gradients_of_leaves_are_apart"
"""The behaviour that says whether an engine shares gradients' memory as a rule, or for single operators."""


def judge_contract(grader: Grader, check: ContractCheck) -> Verdict:
    """Walk the rule twice, with another walk in between, and read everything that must not change."""
    obstacle = _obstacle(grader, check)
    if obstacle is not None:
        return grader.verdict(check, *obstacle)
    name = check.operator.name
    welcome = {other for other in WELCOME if grader.sound(operator_table()[other])}
    profile = grader.profile(operators=frozenset({name, NEEDED, *welcome}))
    examples = grader.settings.effort.per_contract
    return grader.search(check, lambda seed: grader.seeded(contract_scenario(seed, name, profile)), examples)


def _obstacle(grader: Grader, check: ContractCheck) -> tuple[Outcome, str] | None:
    """Return why nothing can be said, if so."""
    name = check.operator.name
    lacking = sorted(NEEDED_FEATURES - grader.engine.adapter.features)
    if not grader.offers(check.operator):
        lacking.append(name)
    if lacking:
        return "unsupported", f"the engine has no {', no '.join(lacking)}"
    failing = [f"operators/{name}"] if grader.of_operator(check.operator).failed else []
    failing += [] if grader.sound(operator_table()[NEEDED]) else [f"operators/{NEEDED}"]
    failing += [behaviours for behaviours in CONTRACT_FOUNDATIONS if not grader.reliable(behaviours)]
    failing += [] if grader.reliable_on(APART, frozenset({"add", "multiply"})) else [APART]
    return ("inconclusive", f"{failing[0]} fails already") if failing else None


def judge_third_order(grader: Grader, check: ThirdOrderCheck) -> Verdict:
    """Differentiate thrice, where second derivatives are right."""
    name = check.operator.name
    second = grader.of_second_order(check.operator)
    if second.verdict in ("unsupported", "inconclusive"):
        return grader.verdict(check, second.verdict, message=second.message)
    if second.failed or not grader.bends(operator_table()["multiply"]):
        failing = f"second_order/{name if second.failed else 'multiply'}"
        return grader.verdict(check, "inconclusive", message=f"{failing} fails already")
    profile = grader.profile(operators=frozenset({name, "multiply"}))
    examples = grader.settings.effort.per_third_order
    return grader.search(check, lambda seed: grader.seeded(third_order_scenario(seed, name, profile)), examples)


def judge_forward_mode(grader: Grader, check: ForwardModeCheck) -> Verdict:
    """Push tangents through an operator whose backward is right, and pull a cotangent back at the same point."""
    name = check.operator.name
    lacking = [] if "forward_mode" in grader.engine.adapter.features else ["forward_mode"]
    lacking += [] if grader.offers(check.operator) else [name]
    if lacking:
        return grader.verdict(check, "unsupported", message=f"the engine has no {', no '.join(lacking)}")
    failing = [f"operators/{name}"] if grader.of_operator(check.operator).failed else []
    failing += [behaviours for behaviours in FORWARD_FOUNDATIONS if not grader.reliable(behaviours)]
    if failing:
        return grader.verdict(check, "inconclusive", message=f"{failing[0]} fails already")
    profile = grader.profile(operators=frozenset({name}))
    examples = grader.settings.effort.per_forward_mode
    return grader.search(check, lambda seed: grader.seeded(forward_scenario(seed, name, profile)), examples)


def belongs_to_forward_mode(check: Check, scenario: Scenario, engine: Engine) -> bool:
    """Whether a failure is this check's: one about forward mode leaves to others what fails without it too."""
    return not isinstance(check, ForwardModeCheck) or not examine(without_tangents(scenario), engine).failed
