"""The library of a first adapter: the code that imports its modules, and trials of what is known of it once started."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from refgrad.errors import EngineStartError, UserError
from refgrad.grading.checks.claims import Claim
from refgrad.grading.first_adapter.candidates import KNOWN, checked_modules, owner_of
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Finding
from refgrad.grading.search import Demonstration
from refgrad.grading.settings import NUMBERS
from refgrad.grading.trials import (
    EMPTY,
    KINDS,
    NUMBER,
    PLAIN,
    VECTOR,
    backward_steps,
    leaf_of,
    small_fixed_cases,
    without_seed,
)
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate
from refgrad.lifecycle import required_features
from refgrad.native.adapter import FunctionalAdapter
from refgrad.native.engine import Engine
from refgrad.native.engine_names import is_file
from refgrad.native.library import Library, RaisedError
from refgrad.native.process import EndingError
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario, Step, ZeroGrad

RIGHT: Final = frozenset({"passed", "convention", "inaccurate"})

Texts = Mapping[str, Any]
"""Values of fields of an adapter, by name."""

Seen = tuple[list[str], dict[str, list[str]]]
"""Attributes of a tensor, and the parameters of functions that may run a backward from it."""

SHARED: Final = ("name", "setup", "leaf", "value", "operators", "aliases", "scalars_only", "dtype")
"""Fields that are known before it is known how gradients are computed."""

REFUSED: Final = frozenset({"unexpected-error", "unsupported", "inconclusive"})


CHOICE: Final = NUMBERS["first_adapter"]

BY_POLICY: Final = frozenset({"accumulate", "retain_graph"})
"""Features that follow from the policy."""


REFUSING: Final = frozenset({"AssertionError", "ValueError"})
"""Types of errors, besides NotImplementedError, with which libraries reject an operand."""


WITHOUT: Final = frozenset({"missing", "crashed", "unexpected-error", "unsupported"})
"""Outcomes of a scenario in which no gradient comes back."""


class StartedLibrary(Engine):
    """A started library with the part of its adapter that is known so far."""

    def knowing(self, **fields: Any) -> StartedLibrary:
        """Return the same library with further fields of its adapter. Raises AdapterError if that is malformed."""
        return StartedLibrary(replace(self.adapter, **fields), self.runner)

    def spelling_only(self, name: str, text: str) -> StartedLibrary:
        """Return a library that spells one operator in the given way, and each other operator in its first way."""
        return self.knowing(operators={**self.operators, name: text}, aliases={}, alike=())

    def renewed(self) -> StartedLibrary:
        """Return the same library in a process in which no earlier trial has left anything."""
        self.runner.renew()
        return self

    def functional(self, vjp: str = "None") -> StartedLibrary:
        """Return the same library as one that differentiates functions."""
        shared = {name: getattr(self.adapter, name) for name in SHARED}
        return StartedLibrary(FunctionalAdapter(**shared, vjp=vjp), self.runner)

    def members(self, modules: Sequence[str], names: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """Return which of the names each module has, without modules that do not exist."""
        members: dict[str, Mapping[str, int]] = {}
        for module in modules:
            with suppress(EngineStartError):  # there is no such module
                members |= self.runner.members([module], names)
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

    def classes(self, modules: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return the names of the first public classes of each module."""
        return {module: _public(self.listed(module)[0], "class")[: CHOICE["most_classes"]] for module in modules}

    def inspected(self, modules: Sequence[str]) -> Seen:
        """Return the attributes of a tensor, and what may run a backward from it, with parameters."""
        owners = {"{output}": self.listed(self.instance)[0], **{module: self.listed(module)[0] for module in modules}}
        called = {
            f"{owner}.{name}": names or KNOWN["retaining"]
            for owner, members in owners.items()
            for name, kind, names in members
            if kind == "function" and any(part in name for part in KNOWN["parts_of_names"])
        }
        return _public(owners["{output}"], "attribute"), called

    def listed(self, owner: str) -> tuple[list[tuple[str, str, list[str]]], list[str]]:
        """Return the members of a module or tensor, with kinds and parameters, and its submodules.

        If reading them raises an error, there are none.
        """
        with suppress(RaisedError, EndingError):
            members, beneath = Library(self).run(KNOWN["listing"].format(owner=owner), timed=False)[0].data
            return members, beneath
        return [], []

    def kinds_read_back(self) -> list[str]:
        """Return the kinds of arrays from which a leaf can be made and that are read back unchanged."""
        return [kind for kind in KINDS if self.shows(Scenario((leaf_of(kind), Read("value", "x"))))]

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

    def runs_backward(self, **templates: str) -> bool:
        """Return True if some backward through a plain operator ends without an error, whatever the gradients are."""
        with suppress(UserError):  # the templates do not fit what is known
            known = self.knowing(**templates)
            backwards = (scenario for kind in KINDS for scenario in known._backwards(kind, reset=False))  # noqa: SLF001
            return any(known.shows(Scenario(scenario.steps[:-1])) for scenario in backwards)
        return False

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
        doubled = Scenario((leaf_of(VECTOR), Apply("y", "add", ("x", "x")), Backward("y"), Read("grad", "x")))
        return self._differentiates_plainly(VECTOR, reset=False) or (ones.runnable(doubled) and ones.shows(doubled))

    def holds_floats(self) -> bool:
        """Return True if a tensor made of a Python float has a Python float as its value."""
        library = Library(self)
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
        """Describe the fault in the gradient of a number; return an empty string without one.

        The gradient is that of the first plain operator that the library has.
        """
        scenario = next(self._backwards(NUMBER, reset=False), None)
        return "" if scenario is None else Demonstration(scenario, self.finding(scenario)).message

    def _backwards(self, kind: str, *, reset: bool) -> Iterator[Scenario]:
        for name in PLAIN:
            steps = backward_steps(self, leaf_of(kind), name) if name in self.operators else ()
            if steps:
                again = (ZeroGrad("x"), Read("grad", "x"), *(step.renamed({"y": "z"}) for step in steps[1:]))
                yield Scenario((*steps, *again) if reset else steps)

    def shows(self, scenario: Scenario) -> bool:
        """Return True if the library passes a scenario."""
        return self.finding(scenario).outcome in RIGHT

    def finding(self, scenario: Scenario) -> Finding:
        """Return the finding of a scenario; ``inconclusive`` if the scenario itself has no value."""
        try:
            return examine(scenario, self)
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
        single = self.knowing(operators={operator.name: text}, aliases={}, alike=())
        right, errors, of_arrays = 0, 0, operator.elementwise or kinds == [NUMBER]
        for scenario in small_fixed_cases(operator, kinds, self):
            findings = map(single.value, _at_several_points(_values_only(scenario)))
            first = next(findings)
            for finding in chain((first,), findings if first.outcome in RIGHT else ()):
                if finding.outcome not in RIGHT | REFUSED:
                    return finding
            if first.outcome in RIGHT:
                right += 1
                of_arrays = of_arrays or any(leaf.value.shape for leaf in scenario.leaves)
            errors += first.outcome == "unexpected-error"
            if errors == CHOICE["patient"] and not right:
                break
        return Finding("passed" if right and of_arrays else "unsupported")

    def rejections(self, kinds: Sequence[str]) -> list[str]:
        """Return a pattern for each error with which the library rejects operands that the operator's row allows.

        Only errors of the types in :data:`REFUSING` count, if they have a message and occur while a value is computed.
        The numbers in a message may vary.
        """
        findings = (
            single.finding(_values_only(scenario))
            for name, texts in self.spellings.items()
            for single in (self.spelling_only(name, text) for text in texts)
            for scenario in small_fixed_cases(operator_table()[name], kinds, self)
        )
        errors = [error for each in findings if (error := getattr(each.fact, "error", None)) is not None]
        rejecting = [error.text.partition("\n")[0] for error in errors if error.type in REFUSING and error.message]
        patterns = [re.escape(text[: CHOICE["longest_pattern"]]).replace("\\ ", " ") for text in rejecting]
        return list(dict.fromkeys(re.sub(r"\\\([\d, ]*\\\)|\d+", ".*", pattern) for pattern in patterns))

    def differentiates(self, operator: Operator, text: str, kinds: Sequence[str]) -> bool:
        """Return True if a spelling has a gradient, right or wrong, for some of these kinds of arrays.

        A missing gradient counts, too, if the library declares that the result requires one.
        """
        without = [finding.outcome in WITHOUT for finding in self._gradients(operator, text, kinds)]
        return not all(without) or not without or self._is_recorded(operator, text, kinds)

    def _is_recorded(self, operator: Operator, text: str, kinds: Sequence[str]) -> bool:
        """Return True if the library declares that some result of a spelling requires grad."""
        if "read_requires_grad" not in self.adapter.features:
            return False
        asked = (
            Scenario((*_forward(each), Read("requires_grad", each.applications[-1].name)))
            for each in small_fixed_cases(operator, kinds, self)
        )
        return any(map(self.spelling_only(operator.name, text).shows, asked))

    def instead_of_gradient(self, operator: Operator, text: str, kinds: Sequence[str]) -> str:
        """Return the description of the first finding without a gradient, or an empty string."""
        findings = self._gradients(operator, text, kinds)
        return next((each.message for each in findings if each.message and each.outcome in WITHOUT), "")

    def _gradients(self, operator: Operator, text: str, kinds: Sequence[str]) -> Iterator[Finding]:
        return map(self.spelling_only(operator.name, text).finding, small_fixed_cases(operator, kinds, self))

    def holds(self, claim: Claim) -> bool | None:
        """Return True if the library shows all scenarios of a claim that it can run, and None if it can run none."""
        tried = list(filter(self.runnable, claim.scenarios))
        return all(map(self.shows, tried)) if tried else None

    def runnable(self, scenario: Scenario) -> bool:
        """Return True if the library has the features and operators of a scenario under any policy."""
        needed = {name for name in required_features(scenario) if not (name in BY_POLICY or name.startswith("error:"))}
        return scenario.operators <= self.operators.keys() and needed <= self.adapter.features


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
    return Scenario((*_forward(scenario), *(Read("value", step.name) for step in scenario.applications)))


def _forward(scenario: Scenario) -> list[Step]:
    """Return the steps that make leaves and apply operators."""
    return [step for step in scenario.steps if isinstance(step, Leaf | Apply)]


@dataclass(frozen=True, slots=True)
class LibraryModules:
    """A library: the modules with its functions, and the interpreter in which it is installed."""

    name: str
    modules: tuple[str, ...]
    python: str
    sources: tuple[str, ...] = ()
    """Names of the modules or files as the user gave them."""
    imports: Mapping[str, str] = field(default_factory=dict)
    """Code that imports each module that is a file, by module."""

    @classmethod
    def of(cls, sources: Sequence[str], name: str | None, python: str) -> LibraryModules:
        """Return the library of modules and files, named after the first. Raises UserError for anything else."""
        files = {text: _module_of(Path(text)) for text in sources if is_file(text)}
        modules = checked_modules([files[text][0] if text in files else text for text in sources])
        own = modules[0].split(".")[-1 if sources[0] in files else 0].lstrip("_")
        return cls(name or own, modules, python, tuple(sources), dict(files.values()))

    def setup(self, code: str = "") -> str:
        """Return the code that imports the modules, unless the given code does, followed by the given code."""
        imported = _imported(code)
        lacking = [m for m in self.modules if not any(f"{name}.".startswith(f"{m}.") for name in imported)]
        return "\n".join([*(self.imports.get(m, f"import {m}") for m in lacking), *filter(None, [code])])

    def refuse_what_is_empty(self, started: StartedLibrary) -> None:
        """Raise UserError if no module has a public member but there are submodules, and suggest these."""
        listed = {module: started.listed(module) for module in self.modules}
        beneath = [f"{module}.{name}" for module, (_, names) in listed.items() for name in names if name[0] != "_"]
        if beneath and not any(_public(members, "class", "function", "attribute") for members, _ in listed.values()):
            named = " ".join([*self.modules, beneath[0]])
            advice = f"did you mean `refgrad new {named}`? There are: {', '.join(beneath)}"
            raise UserError(f"{', '.join(self.modules)} has nothing public; {advice}")

    def own_modules(self, started: StartedLibrary) -> tuple[str, ...]:
        """Return the modules, and those submodules of the library in which libraries keep operators."""
        packages = {module.partition(".")[0] for module in self.modules}
        beneath = [f"{root}.{name}" for root in self.modules for name in KNOWN["submodules"]]
        owned = {module: KNOWN["own"].format(packages=sorted(packages), module=module) for module in beneath}
        members = started.members(list(owned.values()), ["__name__"])
        return tuple(dict.fromkeys([*self.modules, *(m for m, owner in owned.items() if members.get(owner))]))


def _module_of(path: Path) -> tuple[str, str]:
    """Return the name of the module of a file, and the code that imports it.

    The file may be in packages. The name is a valid Python name even if that of the file is not.
    """
    if not path.exists():
        raise UserError(f"{path}: there is no such file")
    path = Path(os.path.abspath(path))  # noqa: PTH100 (Path.absolute keeps `..`)
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file():
        folder, parts = folder.parent, [folder.name, *parts]
    module = ".".join(parts)
    called = re.sub(r"^(?=\d)|[^\w.]", "_", module)
    search = "" if folder == Path.cwd() else f"import sys\nsys.path.insert(0, {str(folder)!r})\n"
    return called, search + (f"import {module}" if called == module else f"{called} = __import__({module!r})")


def _public(members: Sequence[tuple[str, str, list[str]]], *kinds: str) -> list[str]:
    """Return the names of the public members of these kinds."""
    return [name for name, kind, _ in members if kind in kinds and name[0] != "_"]


def _imported(setup: str) -> set[str]:
    """Return the modules that the code imports under their own names; none if the code is not valid Python."""
    try:
        statements = ast.parse(setup).body
    except SyntaxError:
        return set()
    names = [alias for each in statements if isinstance(each, ast.Import) for alias in each.names]
    return {alias.name for alias in names if alias.asname in {None, alias.name}}
