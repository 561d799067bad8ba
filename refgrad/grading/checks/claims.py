"""Claims of adapters about their engines, the rows of ``specs/claims/*.toml``, and their checks.

A check decides whether a claim is true, and whether all claims are made. Everything that is declared must work. What
works by the adapter's own templates, but is not declared, should be declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args, get_type_hints

from refgrad.documents import read_toml
from refgrad.errors import UserError
from refgrad.facts import Comment, Evidence
from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.isolation import isolated
from refgrad.grading.judging.examination import confront, examine
from refgrad.grading.judging.verdict import OUTCOMES, Finding, Outcome, Verdict
from refgrad.grading.search import Demonstration
from refgrad.grading.settings import CHECKS
from refgrad.grading.trials import faults_of_one_backward
from refgrad.lifecycle import Fails, Policy, lower, predict, required_features
from refgrad.native.adapter import FEATURES, AnyAdapter, FunctionalAdapter, TapeAdapter
from refgrad.native.engine import Engine, observe
from refgrad.operators import operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Leaf, Scenario, ScenarioError, parse
from refgrad.specification import specs_directory

Kind: TypeAlias = Literal["features", "policies", "dtypes"]


class ClaimError(UserError):
    """A row is malformed; the message names the file, the row and what is wrong."""


@dataclass(frozen=True, slots=True)
class Claim(Check):
    """A statement of an adapter about its engine, and the scenarios that show together whether it is true.

    It is checked whether the adapter makes it or not. ``name`` is the name of a feature, of a field of the policy, or
    of a dtype, depending on ``kind``.
    """

    kind: Kind
    name: str
    scenarios: tuple[Scenario, ...]

    def run(self, bench: Bench) -> Verdict:
        """Return the verdict on a field of the policy, or on a feature or a dtype."""
        return _of_policy(bench, self) if self.kind == "policies" else _of_offer(bench, self)


PLAIN: Final = str.maketrans(":-", "__")
"""Replacement of the characters that a file name cannot have."""

STATEMENTS: Final[Mapping[Kind, str]] = CHECKS["claims"]
"""Format strings of the statements of claims, by kind."""


def all_claims() -> tuple[Claim, ...]:
    """Return the claims in the order of the files. Raises ClaimError if a row is malformed."""
    return tuple(claim for kind in STATEMENTS for claim in claims_about(kind).values())


@cache
def claims_about(kind: Kind) -> Mapping[str, Claim]:
    """Return the claims of a kind by name, in the order of the file. Raises ClaimError if a row is malformed."""
    return MappingProxyType({claim.name: claim for claim in _read(kind)})


def _read(kind: Kind) -> Iterator[Claim]:
    path = specs_directory() / "claims" / f"{kind}.toml"
    rows = read_toml(path, "claims", ClaimError) if path.exists() else {}
    for name, row in rows.items():
        try:
            explained = FEATURES[name] if kind == "features" else row.get("statement", "")
            scenarios = tuple(parse(text) for text in row["scenarios"])
        except (KeyError, ScenarioError) as error:
            raise ClaimError(f"{path.name}: row {name!r}: {error}") from error
        statement = STATEMENTS[kind].format(name=name, text=explained)
        yield Claim(kind, name, scenarios, id=f"claims/{name.translate(PLAIN)}", level="MUST", statement=statement)


def _of_offer(bench: Bench, claim: Claim) -> Verdict:
    """Return the verdict on a feature or a dtype."""
    name, adapter = claim.name, bench.engine.adapter
    declared = name in adapter.features or name in adapter.dtypes
    nested = {"double_backward"} if isinstance(adapter, FunctionalAdapter) else set()
    if not declared and name not in replace(adapter, lacks=frozenset()).features | {"arrays"} | nested:
        comment = Comment(text="the adapter does not say so, and has no template that shows it")
        return bench.verdict(claim, "unsupported", comment)
    offered, operators = adapter.features | {name}, bench.engine.operators.keys()
    tried = [s for s in claim.scenarios if required_features(s) <= offered and s.operators <= operators]
    if not tried:
        return bench.verdict(claim, "inconclusive", Comment(text="the engine has not all that would show it"))
    every = [Demonstration(scenario, examine(scenario, bench.engine)) for scenario in tried]
    seen = [each for each in every if not _lacks_array(each.scenario, each.finding)] or every
    failed = next((each for each in seen if each.finding.outcome != "passed"), None)
    if failed is not None and declared:
        remedy = f"if there is none, {_advice(name, adapter, there=False)}"
        return _refuted(bench, claim, failed, f"{name} is declared, but {failed.message}; {remedy}")
    if failed is None and not declared:
        text = f"{name} is there, and not declared: {_advice(name, adapter, there=True)}"
        return _undeclared(bench, claim, text, [each.scenario for each in seen])
    fact = None if declared else Comment(text=f"{name} is not there, as declared")
    return bench.verdict(claim, "passed", fact, examples=len(seen))


def _lacks_array(scenario: Scenario, finding: Finding) -> bool:
    """Return True if the engine does not support a leaf, as one with only matrices does not support vectors."""
    return finding.outcome == "unsupported" and finding.step > 0 and isinstance(scenario.steps[finding.step - 1], Leaf)


def _refuted(bench: Bench, claim: Claim, seen: Demonstration, text: str) -> Verdict:
    """Return the verdict on something that is declared and does not work, unless an operator is to blame."""
    for name in sorted(name for name in seen.scenario.operators if operator_table()[name].elementwise):
        if examine(isolated(name), bench.engine).failed:
            comment = Comment(text=f"cannot be judged: {name} fails by itself")
            return bench.verdict(claim, "inconclusive", comment, cause=f"operators/{name}")
    outcome: Outcome = "inconclusive" if seen.finding.outcome == "inconclusive" else "missing"
    verdict = bench.verdict_of(claim, replace(seen, finding=replace(seen.finding, outcome=outcome)), examples=1)
    return replace(verdict, message=text)


def _undeclared(bench: Bench, claim: Claim, text: str, scenarios: Sequence[Scenario]) -> Verdict:
    """Return the verdict on something that works and is not declared."""
    verdict = bench.verdict_of(claim, Demonstration(scenarios[0], Finding("missing")), examples=len(scenarios))
    return replace(verdict, message=text, evidence=Evidence(Comment(text=text)), level="SHOULD")


def _advice(name: str, adapter: AnyAdapter, *, there: bool) -> str:
    """Return advice on how to declare that a feature or dtype is there, or is not."""
    if name in adapter.lacks:
        return f"take {name!r} out of lacks"
    if name in adapter.dtypes:
        return f"leave {name!r} out of dtypes"
    if name == "arrays":
        return f"say `scalars_only = {str(not there).lower()}`"
    if name == "double_backward" and isinstance(adapter, FunctionalAdapter):
        return f"say `nests = {str(there).lower()}`"
    return f"put {name!r} into lacks"


def _of_policy(bench: Bench, claim: Claim) -> Verdict:
    """Return the verdict on a field of the policy.

    Each of its values, the most demanding first, is compared with what the engine does.
    """
    name, engine = claim.name, bench.engine
    if not isinstance(engine.adapter, TapeAdapter):
        return bench.lacks(claim, "tape")
    own = engine.adapter.policy
    policies = {value: replace(own, **{name: value}) for value in get_args(get_type_hints(Policy)[name])}
    scenarios = [s for s in claim.scenarios if _is_tried(s, engine, policies.values())]
    if not scenarios:
        return bench.verdict(claim, "inconclusive", Comment(text="the engine has not all that would show it"))
    seen = {value: _worst_under(policy, scenarios, engine) for value, policy in policies.items()}
    agreeing = [value for value, worst in seen.items() if worst.finding.outcome == "passed"]
    value = getattr(own, name)
    if value not in agreeing:
        advised = agreeing and not faults_of_one_backward(engine)
        other = f"; it does as {name}={agreeing[0]!r} says" if advised else ""
        text = f"the policy says {name}={value!r}, but {seen[value].message}{other}"
        return _refuted(bench, claim, seen[value], text)
    if agreeing[0] != value:
        text = f"the policy says {name}={value!r}, but the engine keeps what {agreeing[0]!r} promises: declare it"
        return _undeclared(bench, claim, text, scenarios)
    return bench.verdict(claim, "passed", examples=len(scenarios))


def _worst_under(policy: Policy, scenarios: Iterable[Scenario], engine: Engine) -> Demonstration:
    """Return the scenario with the worst finding if the engine had this policy."""
    tried = []
    for scenario in scenarios:
        lowered = lower(scenario, policy)
        oracle = CertifiedOracle(lowered.scenario, engine.adapter.dtype)
        finding = confront(lowered.predictions, observe(scenario, engine), oracle, engine.adapter)
        tried.append(Demonstration(scenario, finding))
    return min(tried, key=lambda seen: OUTCOMES.index(seen.finding.outcome))


def _is_tried(scenario: Scenario, engine: Engine, policies: Iterable[Policy]) -> bool:
    """Return True if the engine has all that a scenario needs, including errors that are expected under some policy."""
    adapter = engine.adapter
    errors = {f"error:{p.kind}" for policy in policies for p in predict(scenario, policy) if isinstance(p, Fails)}
    needed = {f for f in required_features(scenario) if f != "accumulate" and not f.startswith("error:")}
    offered = needed <= adapter.features and scenario.operators <= engine.operators.keys()
    return offered and not errors & adapter.lacks and not _lacks_array(scenario, examine(scenario, engine))
