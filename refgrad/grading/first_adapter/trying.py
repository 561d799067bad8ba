"""Trials of candidate templates, and of features, on one started library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, get_args, get_type_hints

import numpy as np

from refgrad.errors import EngineStartError, UserError
from refgrad.facts import Entry
from refgrad.grading.checks.claims import Claim, all_claims
from refgrad.grading.first_adapter.asking import Asking
from refgrad.grading.first_adapter.candidates import OPTIONAL, owner_of, with_module
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Finding
from refgrad.grading.trials import (
    KINDS,
    PLAIN,
    backward_steps,
    faults_of_one_backward,
    sends_kept_gradients_again,
    small_fixed_cases,
    with_spellings,
    without_seed,
)
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate
from refgrad.lifecycle import Policy, required_features
from refgrad.native.adapter import AnyAdapter, FunctionalAdapter
from refgrad.native.engine import Engine
from refgrad.native.library import Library, RaisedError
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario, Step, ZeroGrad

RIGHT: Final = frozenset({"passed", "convention", "inaccurate"})

Texts = Mapping[str, Any]
"""Values of fields of an adapter, by name."""

SHARED: Final = ("name", "setup", "leaf", "value", "operators", "aliases", "scalars_only", "dtype")
"""Fields that are known before it is known how gradients are computed."""

REFUSED: Final = frozenset({"unexpected-error", "unsupported", "inconclusive"})

PATIENT: Final = 5
"""Number of errors after which a spelling is given up."""

NUMBER: Final = "a number"
VECTOR: Final = "a vector"
EMPTY: Final = "an empty array"

BY_POLICY: Final = frozenset({"accumulate", "retain_graph"})
"""Features that follow from the policy."""


REFUSING: Final = frozenset({"AssertionError", "ValueError"})
"""Types of errors, besides NotImplementedError, with which libraries reject an operand."""

LONGEST_PATTERN: Final = 80
"""Largest number of characters of a message that a pattern is made of."""

WITHOUT: Final = frozenset({"missing", "crashed", "unexpected-error", "unsupported"})
"""Outcomes of a scenario in which no gradient comes back."""


@dataclass(frozen=True, slots=True)
class StartedLibrary:
    """A started library with the part of its adapter that is known so far."""

    engine: Engine

    @property
    def adapter(self) -> AnyAdapter:
        """Part of the adapter that is known so far."""
        return self.engine.adapter

    def knowing(self, **fields: Any) -> StartedLibrary:
        """Return the same library with further fields of its adapter. Raises AdapterError if that is malformed."""
        return StartedLibrary(Engine(replace(self.adapter, **fields), self.engine.runner))

    def renewed(self) -> StartedLibrary:
        """Return the same library in a process in which no earlier trial has left anything."""
        self.engine.runner.renew()
        return self

    def functional(self, vjp: str = "None") -> StartedLibrary:
        """Return the same library as one that differentiates functions."""
        known = self.adapter
        shared = {name: getattr(known, name) for name in SHARED}
        return StartedLibrary(Engine(FunctionalAdapter(**shared, vjp=vjp), self.engine.runner))

    def members(self, modules: Sequence[str], names: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """Return which of the names each module has, without modules that do not exist."""
        members: dict[str, Mapping[str, int]] = {}
        for module in modules:
            try:
                members |= self.engine.runner.members([module], names)
            except EngineStartError:  # there is no such module
                continue
        return members

    def existing(self, texts: Iterable[str]) -> set[str]:
        """Return the spellings that call functions of the library, and all spellings that call no named function."""
        owners: dict[str, dict[str, list[str]]] = {}
        for text in texts:
            owner, name = owner_of(text)
            owners.setdefault(owner, {}).setdefault(name, []).append(text)
        spellings = set(chain.from_iterable(owners.pop("", {}).values()))
        for owner, called in owners.items():
            module = self.instance if owner.startswith("{") else owner
            had = self.members([module], list(called)).get(module, {})
            spellings.update(text for name in had for text in called[name])
        return spellings

    @property
    def instance(self) -> str:
        """Python expression that makes a tensor of the library."""
        text, array = self.adapter.leaf, "np.array([1.5, 2.5])"
        filled = {"array": array, "scalar": "1.5", "requires_grad": "True", "dtype": self.adapter.dtype}
        for name, value in filled.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def kinds_read_back(self) -> list[str]:
        """Return the kinds of arrays from which a leaf can be made and that are read back unchanged."""
        leaves = {kind: Leaf("x", Constant.of(array), requires_grad=True) for kind, array in KINDS.items()}
        return [kind for kind, leaf in leaves.items() if self.shows(Scenario((leaf, Read("value", "x"))))]

    def kinds_differentiated(self, kinds: Iterable[str], *, reset: bool = False) -> list[str]:
        """Return the kinds of arrays for which some plain operator has a right gradient.

        With ``reset``, every plain operator that has one must also have one after the reset. A number without a seed
        counts as another kind. If only empty arrays have right gradients, the result is empty: their gradients are
        right whatever was computed.
        """
        seeded = [kind for kind in kinds if kind == NUMBER or "seed" in self.adapter.features]
        right = [kind for kind in seeded if self._differentiates_plainly(kind, reset=reset)]
        if right == [EMPTY]:
            return []
        seedless = (Scenario(without_seed(scenario.steps)) for scenario in self._backwards(NUMBER, reset=reset))
        return [*right, f"{NUMBER} without a seed"] if NUMBER in right and any(map(self.shows, seedless)) else right

    def _differentiates_plainly(self, kind: str, *, reset: bool) -> bool:
        """Return True if some plain operator has a right gradient.

        With ``reset``, each plain operator with a right gradient must also have one after a reset.
        """
        plain = self._backwards(kind, reset=False)
        if not reset:
            return any(map(self.shows, plain))
        pairs = zip(plain, self._backwards(kind, reset=True), strict=True)
        right = [self.shows(again) for scenario, again in pairs if self.shows(scenario)]
        return bool(right) and all(right)

    def differentiates_arrays(self) -> bool:
        """Return True if arrays have gradients: with a seed, through a sum, or with ones as the seed of ``x + x``."""
        ones = self.knowing(policy=replace(self.adapter.policy, implicit_seed="ones"))
        leaf = Leaf("x", Constant.of(KINDS[VECTOR]), requires_grad=True)
        doubled = Scenario((leaf, Apply("y", "add", ("x", "x")), Backward("y"), Read("grad", "x")))
        return self._differentiates_plainly(VECTOR, reset=False) or (ones.runnable(doubled) and ones.shows(doubled))

    def holds_floats(self) -> bool:
        """Return True if a tensor made of a Python float has a Python float as its value."""
        library = Library(self.engine)
        value = library.value(library.leaf("np.array(1.5)", "1.5"))
        with suppress(RaisedError):
            return bool(library.run(f"def attempt(): return [type({value}) is float]\n", timed=False)[0].data[0])
        return False

    def keeps_graphs(self) -> bool:
        """Return True if a graph can be differentiated again after a backward that retains it."""
        for scenario in self._backwards(NUMBER, reset=False):
            *steps, read = (
                replace(s, retain_graph=True) if isinstance(s, Backward) else s for s in without_seed(scenario.steps)
            )
            return self.finding(Scenario((*steps, steps[-1], read))).outcome not in WITHOUT
        return False

    def has_own_reset(self) -> bool:
        """Return True if gradients are reset by a method of the library.

        If such a method resets them incorrectly, that is a fault of the library.
        """
        text = getattr(self.adapter, "zero_grad", None) or ""
        own = text.startswith("{leaf}.") and bool(self.existing([text]))
        return own and any(self.finding(each).outcome not in WITHOUT for each in self._backwards(NUMBER, reset=True))

    def gradient_problem(self) -> str:
        """Return the description of what was wrong with the gradient of a number, or an empty string.

        The gradient is that of the first plain operator that the library has.
        """
        scenario = next(self._backwards(NUMBER, reset=False), None)
        finding = None if scenario is None else self.finding(scenario)
        return "" if finding is None or finding.evidence is None else finding.evidence.message(scenario)

    def _backwards(self, kind: str, *, reset: bool) -> Iterator[Scenario]:
        leaf = Leaf("x", Constant.of(KINDS[kind]), requires_grad=True)
        for name in PLAIN:
            steps = backward_steps(self.engine, leaf, name) if name in self.engine.operators else ()
            if steps:
                again = (ZeroGrad("x"), Read("grad", "x"), *_with_output(steps[1:], "z")) if reset else ()
                yield Scenario((*steps, *again))

    def shows(self, scenario: Scenario) -> bool:
        """Return True if the library shows what a scenario must show."""
        return self.finding(scenario).outcome in RIGHT

    def finding(self, scenario: Scenario) -> Finding:
        """Return the finding of a scenario; ``inconclusive`` if the scenario itself has no value."""
        try:
            return examine(scenario, self.engine)
        except ScenarioEvaluationError:
            return Finding("inconclusive")

    def value(self, scenario: Scenario) -> Finding:
        """Return the finding of a scenario, in a fresh process if an earlier trial may have caused it."""
        finding = self.finding(scenario)
        return finding if finding.outcome in RIGHT | REFUSED else self.renewed().finding(scenario)

    def has(self, operator: Operator) -> bool:
        """Return True if the library may have an operator. One of scalars has elementwise operators only."""
        return operator.elementwise or not self.adapter.scalars_only

    def computes(self, operator: Operator, text: str, kinds: Sequence[str]) -> bool:
        """Return True if a spelling gives the operator's values wherever it raises no error."""
        return self.values(operator, text, kinds).outcome == "passed"

    def values(self, operator: Operator, text: str, kinds: Sequence[str]) -> Finding:
        """Return the first finding of a spelling's values that is neither right nor an error, if there is one.

        Otherwise return ``passed`` if some values are right, and ``unsupported`` if not. If the operator is not
        elementwise and arrays are tried, some values of arrays must be right.
        """
        single = StartedLibrary(with_spellings(self.engine, {operator.name: text}))
        right, errors, of_arrays = 0, 0, operator.elementwise or kinds == [NUMBER]
        for scenario in small_fixed_cases(operator, kinds, self.engine):
            first, *others = map(single.value, _at_several_points(_values_only(scenario)))
            for finding in (first, *others) if first.outcome in RIGHT else (first,):
                if finding.outcome not in RIGHT | REFUSED:
                    return finding
            if first.outcome in RIGHT:
                right += 1
                of_arrays = of_arrays or any(leaf.value.shape for leaf in scenario.leaves)
            errors += first.outcome == "unexpected-error"
            if errors == PATIENT and not right:
                break
        return Finding("passed" if right and of_arrays else "unsupported")

    def rejections(self, kinds: Sequence[str]) -> list[str]:
        """Return a pattern for each error with which the library rejects operands that the operator's row allows.

        Only errors of the types in :data:`REFUSING` count, if they have a message and occur while a value is computed.
        The numbers in a message may vary.
        """
        patterns: dict[str, None] = {}
        for name, texts in self.engine.spellings.items():
            for text in texts:
                single = StartedLibrary(with_spellings(self.engine, {**self.engine.operators, name: text}))
                for scenario in small_fixed_cases(operator_table()[name], kinds, self.engine):
                    error = getattr(single.finding(_values_only(scenario)).fact, "error", None)
                    if error is not None and error.type in REFUSING and error.message:
                        pattern = re.escape(error.text.partition("\n")[0][:LONGEST_PATTERN]).replace("\\ ", " ")
                        patterns[re.sub(r"\\\([\d, ]*\\\)|\d+", ".*", pattern)] = None
        return list(patterns)

    def differentiates(self, operator: Operator, text: str, kinds: Sequence[str]) -> bool:
        """Return True if a spelling has a gradient for some kinds of arrays, even a wrong one: reports show those.

        A missing gradient counts, too, if the library declares that the result requires one.
        """
        without = [finding.outcome in WITHOUT for finding in self._gradients(operator, text, kinds)]
        return not all(without) or not without or self._is_recorded(operator, text, kinds)

    def _is_recorded(self, operator: Operator, text: str, kinds: Sequence[str]) -> bool:
        """Return True if the library declares that some result of a spelling requires grad."""
        if "read_requires_grad" not in self.adapter.features:
            return False
        single = StartedLibrary(with_spellings(self.engine, {**self.engine.operators, operator.name: text}))
        applied = (
            Scenario(tuple(step for step in each.steps if isinstance(step, Leaf | Apply)))
            for each in small_fixed_cases(operator, kinds, self.engine)
        )
        asked = (Scenario((*each.steps, Read("requires_grad", each.applications[-1].name))) for each in applied)
        return any(map(single.shows, asked))

    def instead_of_gradient(self, operator: Operator, text: str, kinds: Sequence[str]) -> str:
        """Return the description of the first finding without a gradient, or an empty string."""
        findings = self._gradients(operator, text, kinds)
        return next((each.evidence.message() for each in findings if each.evidence and each.outcome in WITHOUT), "")

    def _gradients(self, operator: Operator, text: str, kinds: Sequence[str]) -> Iterator[Finding]:
        single = StartedLibrary(with_spellings(self.engine, {**self.engine.operators, operator.name: text}))
        return map(single.finding, small_fixed_cases(operator, kinds, self.engine))

    def runnable(self, scenario: Scenario) -> bool:
        """Return True if the library has what a scenario needs, whatever its policy."""
        needed = {name for name in required_features(scenario) if not (name in BY_POLICY or name.startswith("error:"))}
        return scenario.operators <= self.engine.operators.keys() and needed <= self.adapter.features


def _with_output(steps: Iterable[Step], name: str) -> Iterator[Step]:
    """Yield the steps of one backward with another name for the tensor from which it starts."""
    for step in steps:
        if isinstance(step, Apply):
            yield replace(step, name=name)
        else:
            yield replace(step, output=name) if isinstance(step, Backward) else step


def _at_several_points(scenario: Scenario) -> Iterator[Scenario]:
    """Yield a scenario and, if all operands are numbers, variants with them reversed, halved and negated.

    Variants for which the operator has no finite value are left out.
    """
    yield scenario
    numbers = [leaf.value.to_numpy() for leaf in scenario.leaves]
    if all(number.shape == () and number.dtype == np.float64 for number in numbers):
        for moved in (numbers[::-1], [number / 2 for number in numbers], [-number for number in numbers]):
            leaves = (replace(leaf, value=Constant.of(n)) for leaf, n in zip(scenario.leaves, moved, strict=True))
            other = Scenario((*leaves, *(step for step in scenario.steps if not isinstance(step, Leaf))))
            with suppress(ScenarioEvaluationError):
                if all(np.isfinite(value).all() for value in evaluate(other, Float64()).values()):
                    yield other


def _values_only(scenario: Scenario) -> Scenario:
    steps = tuple(step for step in scenario.steps if isinstance(step, Leaf | Apply))
    return Scenario((*steps, *(Read("value", step.name) for step in scenario.applications)))


Works = Callable[[StartedLibrary], Sequence[str]]
"""Function that returns the kinds of arrays for which a library works."""


def best_of(started: StartedLibrary, candidates: Iterable[Texts], works: Works) -> Texts:
    """Return the first candidate that works for the most kinds of arrays; an empty mapping if none works."""
    best: tuple[int, Texts] = (0, {})
    for fields in candidates:
        try:
            count = len(works(started.knowing(**fields)))
        except UserError:  # a template that does not fit what is known, such as one without its seed
            continue
        best = max(best, (count, fields), key=lambda pair: pair[0])
        if count > len(KINDS):
            break
    return best[1]


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
