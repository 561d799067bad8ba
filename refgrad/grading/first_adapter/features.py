"""Policy, dtypes and features of a first adapter: what works is declared, and what fails is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final, get_args, get_type_hints

from refgrad.grading.checks.statements.claims import Claim, all_claims
from refgrad.grading.first_adapter.asking import Asking
from refgrad.grading.first_adapter.candidates import OPTIONAL, with_module
from refgrad.grading.first_adapter.trying import BY_POLICY, RIGHT, Workbench
from refgrad.grading.judging.evidence import Entry
from refgrad.grading.plain_programs import faults_of_one_backward, sends_kept_gradients_again
from refgrad.lifecycle import Policy, required_features
from refgrad.native.adapter import FunctionalAdapter

LENIENT: Final = frozenset({"open", "overwrites", "replaces"})
"""Values of the policy that allow gradients which are wrong under the other values."""


def with_policy(bench: Workbench) -> Workbench:
    """Choose the value of each field of the policy: the first one under which no scenario of its claim fails.

    If plain programs with one backward are wrong, no value is chosen that would allow a wrong gradient.
    """
    if isinstance(bench.adapter, FunctionalAdapter):
        return bench
    types, claims = get_type_hints(Policy), {claim.name: claim for claim in all_claims() if claim.kind == "policies"}
    excluded = LENIENT if faults_of_one_backward(bench.engine) else frozenset()
    for field in ("implicit_seed", "keeps", "accumulates", "frees"):
        for value in (value for value in get_args(types[field]) if value not in excluded):
            known = bench.knowing(policy=replace(bench.adapter.policy, **{field: value}))
            shown = [known.found(scenario) for scenario in claims[field].scenarios if known.runnable(scenario)]
            if shown and not any(finding.failed for finding in shown):
                bench = known
                break
    return bench


def with_dtypes(bench: Workbench) -> Workbench:
    """Declare the dtypes that values and gradients keep, besides the one in which everything is computed.

    Libraries of Python floats have only float64.
    """
    if bench.adapter.scalars_only and bench.holds_floats():
        return bench
    for claim in all_claims():
        if claim.kind == "dtypes" and claim.name not in bench.adapter.dtypes:
            known = bench.knowing(dtypes=(*bench.adapter.dtypes, claim.name))
            tried = list(filter(known.runnable, claim.scenarios))
            if tried and all(map(known.shows, tried)):
                bench = known
    return bench


def with_optional(bench: Workbench, modules: Sequence[str]) -> Workbench:
    """Keep each optional field that gives a feature that works."""
    kind = "functional" if isinstance(bench.adapter, FunctionalAdapter) else "tape"
    for field, texts in OPTIONAL[kind].items():
        for text in with_module(texts, modules) if getattr(bench.adapter, field) is None else ():
            known = bench.knowing(**{field: text})
            gained = {name for name in known.adapter.features - bench.adapter.features if "error:" not in name}
            if not gained.isdisjoint(_shown(known, gained)):
                bench = known
                break
    return bench


def without_what_fails(bench: Workbench, asking: Asking) -> Workbench:
    """Leave out the templates of features that do not work, and declare further failing features as lacking.

    Templates that are given are kept.
    """
    failed = _lacking(bench)
    if isinstance(bench.adapter, FunctionalAdapter):
        bench = bench.knowing(nests=bench.adapter.nests and "double_backward" not in failed)
    elif "zero_grad" in failed and "zero_grad" not in asking.given:
        bench = bench.knowing(zero_grad=None)
    return bench.knowing(lacks=frozenset(_lacking(bench)))


def _lacking(bench: Workbench) -> set[str]:
    """Return the features that follow from the templates and do not work.

    Features that fail only because of another feature are not among them. Neither are those that give wrong numbers
    under the policy that fits best: these are left to a report. ``retain_graph`` is among them if a second backward
    propagates gradients that results kept.
    """
    features = bench.adapter.features
    failed = {claim.name for claim in _claims(bench, features)} - set(_shown(bench, features))
    lacking = {name for name in failed if not _shows_alone(bench, name, failed) and not _gives_numbers(bench, name)}
    kept = "retain_graph" in features and sends_kept_gradients_again(bench.engine)
    return lacking | {"retain_graph"} if kept else lacking


def _gives_numbers(bench: Workbench, name: str) -> bool:
    """Return True if a feature that follows from the policy fails only by wrong numbers.

    For ``zero_grad``, return True if the reset is a method of the library.
    """
    if name not in BY_POLICY:
        return name == "zero_grad" and bench.has_own_reset()
    (claim,) = _claims(bench, [name])
    findings = [bench.found(each) for each in claim.scenarios if bench.runnable(each)]
    return all(isinstance(each.fact, Entry) for each in findings if each.outcome not in RIGHT)


def _shows_alone(bench: Workbench, name: str, failed: AbstractSet[str]) -> bool:
    """Return True if a feature works in the scenarios that need none of the other failed features."""
    known = bench.knowing(lacks=frozenset(failed - {name}))
    (claim,) = _claims(bench, [name])
    tried = [
        each for each in claim.scenarios if known.runnable(each) and not (required_features(each) & failed - {name})
    ]
    return bool(tried) and all(map(known.shows, tried))


def _shown(bench: Workbench, features: Iterable[str]) -> Iterator[str]:
    for claim in _claims(bench, features):
        if all(bench.shows(scenario) for scenario in claim.scenarios if bench.runnable(scenario)):
            yield claim.name


def _claims(bench: Workbench, features: Iterable[str]) -> list[Claim]:
    """Return the claims about these features that have a scenario which the library can run."""
    wanted = set(features)
    claims = (claim for claim in all_claims() if claim.kind == "features" and claim.name in wanted)
    return [claim for claim in claims if any(map(bench.runnable, claim.scenarios))]
