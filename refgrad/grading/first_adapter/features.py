"""Policy, dtypes and features of a first adapter: what works is declared, and what fails is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final, get_args, get_type_hints

from refgrad.grading.checks.statements.claims import Claim, all_claims
from refgrad.grading.first_adapter.asking import Asking
from refgrad.grading.first_adapter.candidates import OPTIONAL, with_module
from refgrad.grading.first_adapter.trying import BY_POLICY, RIGHT, StartedLibrary
from refgrad.grading.judging.evidence import Entry
from refgrad.grading.plain_programs import faults_of_one_backward, sends_kept_gradients_again
from refgrad.lifecycle import Policy, required_features
from refgrad.native.adapter import FunctionalAdapter

LENIENT: Final = frozenset({"open", "overwrites", "replaces"})
"""Values of the policy that allow gradients which are wrong under the other values."""


def with_policy(started: StartedLibrary) -> StartedLibrary:
    """Choose the value of each field of the policy: the first one under which no scenario of its claim fails.

    If plain programs with one backward are wrong, no value is chosen that would allow a wrong gradient.
    """
    if isinstance(started.adapter, FunctionalAdapter):
        return started
    types, claims = get_type_hints(Policy), {claim.name: claim for claim in all_claims() if claim.kind == "policies"}
    excluded = LENIENT if faults_of_one_backward(started.engine) else frozenset()
    for field in ("implicit_seed", "keeps", "accumulates", "frees"):
        for value in (value for value in get_args(types[field]) if value not in excluded):
            known = started.knowing(policy=replace(started.adapter.policy, **{field: value}))
            findings = [known.finding(scenario) for scenario in claims[field].scenarios if known.runnable(scenario)]
            if findings and not any(finding.failed for finding in findings):
                started = known
                break
    return started


def with_dtypes(started: StartedLibrary) -> StartedLibrary:
    """Declare the dtypes that values and gradients keep, besides the one in which everything is computed.

    Libraries of Python floats have only float64.
    """
    if started.adapter.scalars_only and started.holds_floats():
        return started
    for claim in all_claims():
        if claim.kind == "dtypes" and claim.name not in started.adapter.dtypes:
            known = started.knowing(dtypes=(*started.adapter.dtypes, claim.name))
            tried = list(filter(known.runnable, claim.scenarios))
            if tried and all(map(known.shows, tried)):
                started = known
    return started


def with_optional(started: StartedLibrary, modules: Sequence[str]) -> StartedLibrary:
    """Keep each optional field that gives a feature that works."""
    kind = "functional" if isinstance(started.adapter, FunctionalAdapter) else "tape"
    for field, texts in OPTIONAL[kind].items():
        for text in with_module(texts, modules) if getattr(started.adapter, field) is None else ():
            known = started.knowing(**{field: text})
            gained = {name for name in known.adapter.features - started.adapter.features if "error:" not in name}
            if not gained.isdisjoint(_working(known, gained)):
                started = known
                break
    return started


def without_what_fails(started: StartedLibrary, asking: Asking) -> StartedLibrary:
    """Leave out the templates of features that do not work, and declare further failing features as lacking.

    Templates that are given are kept.
    """
    failed = _lacking(started)
    if isinstance(started.adapter, FunctionalAdapter):
        started = started.knowing(nests=started.adapter.nests and "double_backward" not in failed)
    elif "zero_grad" in failed and "zero_grad" not in asking.options:
        started = started.knowing(zero_grad=None)
    return started.knowing(lacks=frozenset(_lacking(started)))


def _lacking(started: StartedLibrary) -> set[str]:
    """Return the features that follow from the templates and do not work.

    Features that fail only because of another feature are not among them. Neither are those that give wrong numbers
    under the policy that fits best: these are left to a report. ``retain_graph`` is among them if a second backward
    propagates gradients that results kept.
    """
    features = started.adapter.features
    failed = {claim.name for claim in _claims(started, features)} - set(_working(started, features))
    lacking = {n for n in failed if not _works_without_others(started, n, failed) and not _gives_numbers(started, n)}
    kept = "retain_graph" in features and sends_kept_gradients_again(started.engine)
    return lacking | {"retain_graph"} if kept else lacking


def _gives_numbers(started: StartedLibrary, name: str) -> bool:
    """Return True if a feature that follows from the policy fails only by wrong numbers.

    For ``zero_grad``, return True if the reset is a method of the library.
    """
    if name not in BY_POLICY:
        return name == "zero_grad" and started.has_own_reset()
    (claim,) = _claims(started, [name])
    findings = [started.finding(each) for each in claim.scenarios if started.runnable(each)]
    return all(isinstance(each.fact, Entry) for each in findings if each.outcome not in RIGHT)


def _works_without_others(started: StartedLibrary, name: str, failed: AbstractSet[str]) -> bool:
    """Return True if a feature works in the scenarios that need none of the other failed features."""
    known = started.knowing(lacks=frozenset(failed - {name}))
    (claim,) = _claims(started, [name])
    tried = [
        each for each in claim.scenarios if known.runnable(each) and not (required_features(each) & failed - {name})
    ]
    return bool(tried) and all(map(known.shows, tried))


def _working(started: StartedLibrary, features: Iterable[str]) -> Iterator[str]:
    for claim in _claims(started, features):
        if all(started.shows(scenario) for scenario in claim.scenarios if started.runnable(scenario)):
            yield claim.name


def _claims(started: StartedLibrary, features: Iterable[str]) -> list[Claim]:
    """Return the claims about these features that have a scenario which the library can run."""
    names = set(features)
    claims = (claim for claim in all_claims() if claim.kind == "features" and claim.name in names)
    return [claim for claim in claims if any(map(started.runnable, claim.scenarios))]
