"""Is what an adapter says of its engine so, and does it say all?

What is declared must be there; what is not declared, though the adapter's own templates show it, should be declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, get_args, get_type_hints

import numpy as np

from refgrad.harness.checks import Check, ClaimCheck
from refgrad.harness.examination import confront, examine
from refgrad.harness.verdict import OUTCOMES, Finding, Outcome, Verdict
from refgrad.lifecycle import Fails, Policy, lower, predict, required_features
from refgrad.native.adapter import AnyAdapter, FunctionalAdapter, TapeAdapter
from refgrad.native.engine import Engine, observe
from refgrad.operators import operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario


class Grader(Protocol):
    """What is known of an engine so far, as :class:`refgrad.harness.grading.Grader` finds it."""

    engine: Engine

    def verdict(
        self, check: Check, outcome: Outcome, message: str = "", scenario: Scenario | None = None, examples: int = 0
    ) -> Verdict:
        """Return a verdict, with the scenario that shows it."""


def judge_claim(grader: Grader, check: ClaimCheck) -> Verdict:
    """Hold a claim against the engine."""
    return _of_policy(grader, check) if check.claim.kind == "policies" else _of_offer(grader, check)


def observable(adapter: AnyAdapter) -> frozenset[str]:
    """Return the features that an adapter's templates can show, declared or not."""
    nested = {"double_backward"} if isinstance(adapter, FunctionalAdapter) else set()
    return replace(adapter, lacks=frozenset()).features | {"arrays"} | nested


def _of_offer(grader: Grader, check: ClaimCheck) -> Verdict:
    """Judge a feature or a dtype."""
    name, adapter = check.claim.name, grader.engine.adapter
    declared = name in adapter.features or name in adapter.dtypes
    if not declared and name not in observable(adapter):
        return grader.verdict(check, "unsupported", "the adapter does not say so, and has no template that shows it")
    tried = _tried(check.claim.scenarios, grader.engine, adapter.features | {name})
    if not tried:
        return grader.verdict(check, "inconclusive", "the engine has not all that would show it")
    seen = [_Seen(scenario, examine(scenario, grader.engine)) for scenario in tried]
    odd = next((each for each in seen if each.finding.outcome != "passed"), None)
    if odd is not None and declared:
        remedy = f"if there is none, {_said(name, adapter, there=False)}"
        return _refuted(grader, check, odd, f"{name} is declared, but {odd.place}; {remedy}")
    if odd is None and not declared:
        message = f"{name} is there, and not declared: {_said(name, adapter, there=True)}"
        return replace(grader.verdict(check, "missing", message, tried[0], len(tried)), level="SHOULD")
    return grader.verdict(check, "passed", "" if declared else f"{name} is not there, as declared", examples=len(tried))


@dataclass(frozen=True, slots=True)
class _Seen:
    """A scenario, and what it showed."""

    scenario: Scenario
    finding: Finding

    @property
    def place(self) -> str:
        """Where it showed that, and what."""
        step = self.scenario.steps[self.finding.step - 1]
        return f"step {self.finding.step}, `{step.to_text()}`: {self.finding.message}"


def _refuted(grader: Grader, check: ClaimCheck, seen: _Seen, message: str) -> Verdict:
    """Return the verdict on what is declared and does not show, unless something else is to blame."""
    for name in sorted(seen.scenario.operators):
        if operator_table()[name].elementwise and examine(_alone(name), grader.engine).failed:
            return grader.verdict(check, "inconclusive", f"cannot be judged: {name} fails by itself")
    outcome: Outcome = "inconclusive" if seen.finding.outcome == "inconclusive" else "missing"
    return grader.verdict(check, outcome, message, seen.scenario, 1)


def _alone(operator: str) -> Scenario:
    """Return one backward through one application of an operator to scalars."""
    row = operator_table()[operator]
    leaves = [Leaf(name, Constant.of(np.array(float(n))), True) for n, name in enumerate(row.argument_names, 2)]  # noqa: FBT003 (it requires grad)
    names = tuple(leaf.name for leaf in leaves)
    reads = [Read.from_json({"what": "grad", "name": name}) for name in names]
    return Scenario((*leaves, Apply("out", operator, names), Backward("out"), *reads))


def _tried(scenarios: Sequence[Scenario], engine: Engine, features: frozenset[str]) -> list[Scenario]:
    """Return the scenarios that need nothing but these features, and operators that the engine has."""
    return [s for s in scenarios if required_features(s) <= features and s.operators <= engine.operators.keys()]


def _said(name: str, adapter: AnyAdapter, *, there: bool) -> str:
    """Say what an adapter has to say of a feature or dtype that is there, or is not."""
    if name in adapter.lacks:
        return f"take {name!r} out of lacks"
    if name in adapter.dtypes:
        return f"leave {name!r} out of dtypes"
    if name == "arrays":
        return f"say scalars_only={not there}"
    if name == "double_backward" and isinstance(adapter, FunctionalAdapter):
        return f"say nests={there}"
    return f"take {name!r} out of lacks" if there else f"put {name!r} into lacks"


def _of_policy(grader: Grader, check: ClaimCheck) -> Verdict:
    """Judge a field of the policy by which of its values, the most demanding first, agree with what the engine does."""
    name, engine = check.claim.name, grader.engine
    if not isinstance(engine.adapter, TapeAdapter):
        return grader.verdict(check, "unsupported", "the engine has no tape")
    given = engine.adapter.policy
    policies = {value: replace(given, **{name: value}) for value in get_args(get_type_hints(Policy)[name])}
    scenarios = [s for s in check.claim.scenarios if _tells(s, engine, policies.values())]
    if not scenarios:
        return grader.verdict(check, "inconclusive", "the engine has not all that would show it")
    seen = {value: _worst_under(policy, scenarios, engine) for value, policy in policies.items()}
    agreeing = [value for value, worst in seen.items() if worst.finding.outcome == "passed"]
    said = getattr(given, name)
    if said not in agreeing:
        other = f"; it does as {name}={agreeing[0]!r} says" if agreeing else ""
        return _refuted(grader, check, seen[said], f"the policy says {name}={said!r}, but {seen[said].place}{other}")
    if agreeing[0] != said:
        message = f"the policy says {name}={said!r}, but the engine keeps what {agreeing[0]!r} promises: declare it"
        return replace(grader.verdict(check, "missing", message, scenarios[0], len(scenarios)), level="SHOULD")
    return grader.verdict(check, "passed", examples=len(scenarios))


def _worst_under(policy: Policy, scenarios: Iterable[Scenario], engine: Engine) -> _Seen:
    """Return the scenario that shows the worst if that policy is the engine's."""
    found = []
    for scenario in scenarios:
        lowered = lower(scenario, policy)
        oracle = CertifiedOracle(lowered.scenario, engine.adapter.dtype)
        finding = confront(lowered.predictions, observe(scenario, engine), oracle, engine.adapter)
        found.append(_Seen(scenario, finding))
    return min(found, key=lambda seen: OUTCOMES.index(seen.finding.outcome))


def _tells(scenario: Scenario, engine: Engine, policies: Iterable[Policy]) -> bool:
    """Whether the engine has all that a scenario needs, errors included that are due under some policy."""
    adapter = engine.adapter
    due = {f"error:{p.kind}" for policy in policies for p in predict(scenario, policy) if isinstance(p, Fails)}
    needed = {f for f in required_features(scenario) if f != "accumulate" and not f.startswith("error:")}
    offered = needed <= adapter.features and scenario.operators <= engine.operators.keys()
    return offered and not due & adapter.lacks
