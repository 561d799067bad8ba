"""Trials of candidate templates on one started library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

import numpy as np

from refgrad.errors import EngineStartError, UserError
from refgrad.grading.first_adapter.candidates import owner_of
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.narration import message
from refgrad.grading.judging.verdict import Finding
from refgrad.grading.trials import KINDS, PLAIN, small_corners, walk_through, with_spellings, without_seed
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate
from refgrad.lifecycle import required_features
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
class Workbench:
    """A started library with the part of its adapter that is known so far."""

    engine: Engine

    @property
    def adapter(self) -> AnyAdapter:
        """Part of the adapter that is known so far."""
        return self.engine.adapter

    def knowing(self, **fields: Any) -> Workbench:
        """Return the same library with further fields of its adapter. Raises AdapterError if that is malformed."""
        return Workbench(Engine(replace(self.adapter, **fields), self.engine.runner))

    def renewed(self) -> Workbench:
        """Return the same library in a process in which no earlier trial has left anything."""
        self.engine.runner.renew()
        return self

    def functional(self, vjp: str = "None") -> Workbench:
        """Return the same library as one that differentiates functions."""
        known = self.adapter
        shared = {name: getattr(known, name) for name in SHARED}
        return Workbench(Engine(FunctionalAdapter(**shared, vjp=vjp), self.engine.runner))

    def members(self, modules: Sequence[str], names: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """Return which of the names each module has, without modules that do not exist."""
        found: dict[str, Mapping[str, int]] = {}
        for module in modules:
            try:
                found |= self.engine.runner.members([module], names)
            except EngineStartError:  # there is no such module
                continue
        return found

    def existing(self, texts: Iterable[str]) -> set[str]:
        """Return the spellings that call functions of the library, and all spellings that call no named function."""
        owners: dict[str, dict[str, list[str]]] = {}
        for text in texts:
            owner, name = owner_of(text)
            owners.setdefault(owner, {}).setdefault(name, []).append(text)
        found = set(chain.from_iterable(owners.pop("", {}).values()))
        for owner, called in owners.items():
            place = self.instance if owner.startswith("{") else owner
            had = self.members([place], list(called)).get(place, {})
            found.update(text for name in had for text in called[name])
        return found

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
        found = []
        for kind, array in KINDS.items():
            leaf = Leaf("x", Constant.of(array), requires_grad=True)
            if self.shows(Scenario((leaf, Read("value", "x")))):
                found.append(kind)
        return found

    def kinds_differentiated(self, kinds: Iterable[str], *, reset: bool = False) -> list[str]:
        """Return the kinds of arrays for which some plain operator has a right gradient.

        With ``reset``, every plain operator that has one must also have one after the reset. A number without a seed
        counts as another kind. If only empty arrays have right gradients, the result is empty: their gradients are
        right whatever was computed.
        """
        seeded = [kind for kind in kinds if kind == NUMBER or "seed" in self.adapter.features]
        found = [kind for kind in seeded if self._differentiates_plainly(kind, reset=reset)]
        if found == [EMPTY]:
            return []
        seedless = (Scenario(without_seed(walk.steps)) for walk in self._walks(NUMBER, reset=reset))
        return [*found, f"{NUMBER} without a seed"] if NUMBER in found and any(map(self.shows, seedless)) else found

    def _differentiates_plainly(self, kind: str, *, reset: bool) -> bool:
        """Return True if some plain operator has a right gradient.

        With ``reset``, each plain operator with a right gradient must also have one after a reset.
        """
        plain = self._walks(kind, reset=False)
        if not reset:
            return any(map(self.shows, plain))
        pairs = zip(plain, self._walks(kind, reset=True), strict=True)
        right = [self.shows(again) for walk, again in pairs if self.shows(walk)]
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
        for walk in self._walks(NUMBER, reset=False):
            *made, read = (
                replace(s, retain_graph=True) if isinstance(s, Backward) else s for s in without_seed(walk.steps)
            )
            return self.found(Scenario((*made, made[-1], read))).outcome not in WITHOUT
        return False

    def has_own_reset(self) -> bool:
        """Return True if gradients are reset by a method of the library.

        If such a method resets them incorrectly, that is a fault of the library.
        """
        text = getattr(self.adapter, "zero_grad", None) or ""
        own = text.startswith("{leaf}.") and bool(self.existing([text]))
        return own and any(self.found(walk).outcome not in WITHOUT for walk in self._walks(NUMBER, reset=True))

    def said_of_gradient(self) -> str:
        """Return the description of what was wrong with the gradient of a number, or an empty string.

        The gradient is that of the first plain operator that the library has.
        """
        walk = next(self._walks(NUMBER, reset=False), None)
        finding = None if walk is None else self.found(walk)
        return "" if finding is None or finding.evidence is None else message(finding.evidence, walk)

    def _walks(self, kind: str, *, reset: bool) -> Iterator[Scenario]:
        leaf = Leaf("x", Constant.of(KINDS[kind]), requires_grad=True)
        for name in PLAIN:
            walk = walk_through(self.engine, leaf, name) if name in self.engine.operators else ()
            if walk:
                again = (ZeroGrad("x"), Read("grad", "x"), *_with_output(walk[1:], "z")) if reset else ()
                yield Scenario((*walk, *again))

    def shows(self, scenario: Scenario) -> bool:
        """Return True if the library shows what a scenario must show."""
        return self.found(scenario).outcome in RIGHT

    def found(self, scenario: Scenario) -> Finding:
        """Return the finding of a scenario; ``inconclusive`` if the scenario itself has no value."""
        try:
            return examine(scenario, self.engine)
        except ScenarioEvaluationError:
            return Finding("inconclusive")

    def value(self, scenario: Scenario) -> Finding:
        """Return the finding of a scenario, in a fresh process if an earlier trial may have caused it."""
        finding = self.found(scenario)
        return finding if finding.outcome in RIGHT | REFUSED else self.renewed().found(scenario)

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
        alone = Workbench(with_spellings(self.engine, {operator.name: text}))
        right, errors, of_arrays = 0, 0, operator.elementwise or kinds == [NUMBER]
        for scenario in small_corners(operator, kinds, self.engine):
            first, *others = map(alone.value, _at_several_points(_values_alone(scenario)))
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

    def refusals(self, kinds: Sequence[str]) -> list[str]:
        """Return a pattern for each error with which the library rejects operands that the operator's row allows.

        Only errors of the types in :data:`REFUSING` count, if they have a message and occur while a value is computed.
        The numbers in a message may vary.
        """
        found: dict[str, None] = {}
        for name, texts in self.engine.spellings.items():
            for text in texts:
                alone = Workbench(with_spellings(self.engine, {**self.engine.operators, name: text}))
                for scenario in small_corners(operator_table()[name], kinds, self.engine):
                    error = getattr(alone.found(_values_alone(scenario)).fact, "error", None)
                    if error is not None and error.type in REFUSING and error.message:
                        said = re.escape(error.text.partition("\n")[0][:LONGEST_PATTERN]).replace("\\ ", " ")
                        found[re.sub(r"\\\([\d, ]*\\\)|\d+", ".*", said)] = None
        return list(found)

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
        alone = Workbench(with_spellings(self.engine, {**self.engine.operators, operator.name: text}))
        made = (
            Scenario(tuple(step for step in each.steps if isinstance(step, Leaf | Apply)))
            for each in small_corners(operator, kinds, self.engine)
        )
        asked = (Scenario((*each.steps, Read("requires_grad", each.applications[-1].name))) for each in made)
        return any(map(alone.shows, asked))

    def instead_of_gradient(self, operator: Operator, text: str, kinds: Sequence[str]) -> str:
        """Return the description of the first finding without a gradient, or an empty string."""
        findings = self._gradients(operator, text, kinds)
        return next((message(each.evidence) for each in findings if each.evidence and each.outcome in WITHOUT), "")

    def _gradients(self, operator: Operator, text: str, kinds: Sequence[str]) -> Iterator[Finding]:
        alone = Workbench(with_spellings(self.engine, {**self.engine.operators, operator.name: text}))
        return map(alone.found, small_corners(operator, kinds, self.engine))

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


def _values_alone(scenario: Scenario) -> Scenario:
    made = tuple(step for step in scenario.steps if isinstance(step, Leaf | Apply))
    return Scenario((*made, *(Read("value", step.name) for step in scenario.applications)))


def best_of(bench: Workbench, candidates: Iterable[Texts], works: Callable[[Workbench], Sequence[str]]) -> Texts:
    """Return the first candidate that works for the most kinds of arrays; an empty mapping if none works."""
    best: tuple[int, Texts] = (0, {})
    for fields in candidates:
        try:
            count = len(works(bench.knowing(**fields)))
        except UserError:  # a template that does not fit what is known, such as one without its seed
            continue
        best = max(best, (count, fields), key=lambda pair: pair[0])
        if count > len(KINDS):
            break
    return best[1]
