"""Trials of an adapter: each template by itself, and the plainest programs as a whole."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from refgrad.documents import parsed_toml
from refgrad.generation import fixed_cases
from refgrad.grading.checks.isolation import without_seeds
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Finding
from refgrad.grading.search import Demonstration
from refgrad.grading.settings import NUMBERS
from refgrad.lifecycle import required_features
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, Isolation, launch, observe, reproduce
from refgrad.native.observation import Raised
from refgrad.native.process import Limits
from refgrad.native.text import plain_line
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario, Step, ZeroGrad, parse
from refgrad.scenario.rewrite import with_seeds
from refgrad.specification import shipped_path

TRIALS: Final = NUMBERS["trials"]

NUMBER: Final = "a number"
VECTOR: Final = "a vector"
EMPTY: Final = "an empty array"

KINDS: Final = MappingProxyType(
    {kind: np.array(entries) for kind, entries in TRIALS["kinds"].items()} | {EMPTY: np.zeros((0, 2))}
)
"""Arrays on which each template is tried, by kind."""

LEAF: Final = ("leaf", "value")
FIXED: Final = ("constant", "value")
GRADIENT: Final = ("seed", "backward", "gradient", "vjp")
"""Fields of adapters that make or read a leaf, a constant and a gradient."""

PATIENCE: Final[float] = TRIALS["patience"]
"""Time limit of one program, in seconds."""

PLAIN: Final = ("multiply", "add", "exp", "sin", "tanh", "square", "negative")
"""Simple operators whose gradients are tried, in this order."""


@dataclass(frozen=True, slots=True)
class TemplateTrial:
    """The result of one template, or of templates that belong together, on one kind of array.

    ``fields`` holds the fields of the adapter that were tried, with their texts. If ``necessary``, an unsupported
    result is a failure, too: no kind of array would be left.
    """

    fields: Mapping[str, str]
    kind: str
    scenario: Scenario
    engine: Engine
    finding: Finding
    necessary: bool = False

    @property
    def failed(self) -> bool:
        """Return True if a template must be corrected. Inaccurate results do not depend on templates."""
        refused = self.necessary and self.finding.outcome == "unsupported"
        return refused or (self.finding.failed and self.finding.outcome != "inaccurate")

    @property
    def program(self) -> str:
        """The program that was run."""
        return reproduce(self.scenario, self.engine)

    @property
    def outcome_text(self) -> str:
        """The outcome and its description."""
        return f"{self.finding.outcome}: {Demonstration(self.scenario, self.finding).message}"

    @property
    def remedy(self) -> str:
        """Advice on how to correct the template."""
        error, missing = getattr(self.finding.fact, "error", None), self.finding.outcome == "missing"
        if self.necessary:
            advice = "nothing_left"
        elif error is not None:
            return _of_error(error)
        elif self.finding.outcome in {"crashed", "hung"}:
            advice = "ended"
        elif all(name.startswith("operators.") for name in self.fields):
            advice = "no_second_gradient" if missing else "other_meaning"
        elif missing:
            advice = "no_gradient"
        else:
            backward = any(isinstance(step, Backward) for step in self.scenario.steps)
            advice = "other_gradient" if backward else "not_returned"
        return str(ADVICE["outcomes"][advice].format(kind=self.kind))


def start(name: str, python: str) -> Engine:
    """Start an engine in the interpreter that has its library, with the time limit of trials.

    Raises UserError if there is no such adapter, or if the engine cannot be started.
    """
    return launch(find_adapter(name), Isolation(python=python, limits=Limits(program=PATIENCE)))


def trials(engine: Engine) -> Iterator[TemplateTrial]:
    """Yield trials of what every program needs, then of every spelling.

    Spellings are tried only on the kinds of arrays for which the former work. If no kind is supported, the result is a
    failure for each kind.
    """
    kinds = [kind for kind, array in KINDS.items() if not (engine.adapter.scalars_only and array.ndim)]
    tried = {kind: list(_foundations(engine, kind)) for kind in kinds}
    if all(own[0].finding.outcome == "unsupported" for own in tried.values()):
        yield from (replace(own[0], necessary=True) for own in tried.values())
        return
    yield from chain.from_iterable(tried.values())
    sound = [kind for kind, own in tried.items() if not any(trial.failed for trial in own)]
    for name, texts in engine.spellings.items():
        operator = operator_table()[name]
        if engine.offers(operator):
            for kind, scenario in _of_each_kind(operator, sound, engine):
                yield from (_spelled(engine, name, text, kind, scenario) for text in texts)


def leaf_of(kind: str) -> Leaf:
    """Return the leaf ``x`` of a kind of array, which requires grad."""
    return Leaf("x", Constant.of(KINDS[kind]), requires_grad=True)


def _foundations(engine: Engine, kind: str) -> Iterator[TemplateTrial]:
    """Yield trials of how tensors are made and read, and of gradients, up to the first that fails."""
    leaf = leaf_of(kind)
    tensors = ((LEAF, leaf), (FIXED, replace(leaf, requires_grad=False)))
    reads = (_tried(engine, names, kind, Scenario((step, Read("value", "x")))) for names, step in tensors)
    for trial in chain(reads, _gradients(engine, kind, leaf)):
        yield trial
        if trial.failed:
            return


def _gradients(engine: Engine, kind: str, leaf: Leaf) -> Iterator[TemplateTrial]:
    """Yield trials of a gradient, of one without a seed for a number, and of the reset.

    The gradient is that of the first operator with a right one, so that no spelling is to blame, or else that of the
    first operator that can be tried.
    """
    tried: list[TemplateTrial] = []
    for name in _simple(engine):
        if steps := backward_steps(engine, leaf, name):
            trial = _tried(engine, GRADIENT, kind, Scenario(steps))
            right = trial.finding.outcome == "passed" or (name in PLAIN and not trial.failed)
            tried.insert(0 if right else len(tried), trial)
            if right:
                break
    if not tried:
        return
    yield tried[0]
    steps = tried[0].scenario.steps
    if not leaf.value.shape:
        yield _tried(engine, GRADIENT, kind, Scenario(without_seed(steps)))
    if "zero_grad" in engine.adapter.features:
        yield _tried(engine, (*GRADIENT, "zero_grad"), kind, Scenario((*steps, ZeroGrad("x"), Read("grad", "x"))))


def _simple(engine: Engine) -> Iterator[str]:
    """Yield the operators whose gradients are tried: plain ones, and then a few others without attributes."""
    yield from (name for name in PLAIN if name in engine.operators)
    rows = (row for row in operator_table().values() if row.elementwise and not row.attribute_names)
    others = (row.name for row in rows if row.name in engine.operators and row.name not in PLAIN)
    yield from islice(others, TRIALS["others"])


def backward_steps(engine: Engine, leaf: Leaf, name: str) -> tuple[Step, ...]:
    """Return the steps of a backward through one operator; none for an array if the engine has no seeds and no sum."""
    array = leaf.value.to_numpy()
    if array.ndim and "seed" not in engine.adapter.features and "sum" not in engine.operators:
        return ()
    seed = Constant.of(np.arange(2.0, array.size + 2).reshape(array.shape))
    step = Apply("y", name, ("x",) * len(operator_table()[name].argument_names))
    return _fitting(Scenario((leaf, step, Backward("y", seed), Read("grad", "x"))), engine).steps


def _fitting(scenario: Scenario, engine: Engine) -> Scenario:
    """Return the scenario, with sums in place of seeds if the engine takes none and has the operators for that."""
    seeded = "seed" in engine.adapter.features
    return scenario if seeded or "sum" in engine.absent(summed := without_seeds(scenario, weighs=False)) else summed


def without_seed(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps of a backward from a number without its seed, which is optional there."""
    return with_seeds(steps, lambda _: None)


def _tried(engine: Engine, names: Iterable[str], kind: str, scenario: Scenario) -> TemplateTrial:
    """Try a scenario with the first spelling of each of its operators, and report these fields and the operators."""
    texts = {name: getattr(engine.adapter, name, None) for name in names}
    if "constant" in texts:
        texts["constant"] = texts["constant"] or engine.adapter.leaf
    operators = {name: engine.operators[name] for name in sorted(scenario.operators)}
    texts |= {f"operators.{name}": text for name, text in operators.items()}
    own = with_spellings(engine, operators) if operators else engine
    known = {name: text for name, text in texts.items() if text is not None}
    return TemplateTrial(known, kind, scenario, own, examine(scenario, own))


def with_spellings(engine: Engine, spelled: Mapping[str, str]) -> Engine:
    """Return the engine with only these spellings, in the same process."""
    return Engine(replace(engine.adapter, operators=spelled, aliases={}, alike=()), engine.runner)


def _of_each_kind(operator: Operator, kinds: Collection[str], engine: Engine) -> Iterator[tuple[str, Scenario]]:
    """Yield the first small fixed case of an operator for each of these kinds of arrays, with no other kinds in it."""
    missing = list(kinds)
    for scenario in small_fixed_cases(operator, kinds, engine):
        kind = max(map(_kind, scenario.leaves), key=list(KINDS).index, default="")
        if kind in missing:
            missing.remove(kind)
            yield kind, scenario


def small_fixed_cases(operator: Operator, kinds: Collection[str], engine: Engine) -> Iterator[Scenario]:
    """Yield the small fixed cases of an operator that have no other kinds of arrays."""
    for seeded in fixed_cases(operator.name, most=TRIALS["fixed_cases"]):
        scenario = _fitting(seeded, engine)
        small = sum(leaf.value.size for leaf in scenario.leaves) <= TRIALS["largest"]
        fits = small and {*map(_kind, scenario.leaves)} <= {*kinds}
        if fits and required_features(scenario) <= engine.adapter.features:
            yield scenario


def _kind(leaf: Leaf) -> str:
    """Return the kind of array of a leaf. More than two axes count as two."""
    return EMPTY if 0 in leaf.value.shape else tuple(KINDS)[min(len(leaf.value.shape), 2)]


def _spelled(engine: Engine, name: str, text: str, kind: str, scenario: Scenario) -> TemplateTrial:
    """Try one spelling of an operator without its others."""
    single = with_spellings(engine, {other: engine.operators[other] for other in scenario.operators} | {name: text})
    return TemplateTrial({f"operators.{name}": text}, kind, scenario, single, examine(scenario, single))


ADVICE: Final = parsed_toml(shipped_path("texts", "advice.toml"))
"""Advice on how to correct a template: by patterns of the text of ``errors``, and by ``outcomes``."""


def _of_error(error: Raised) -> str:
    known = next((text for pattern, text in ADVICE["errors"].items() if re.search(pattern, error.text)), None)
    if known is not None:
        return str(known)
    first = error.message.strip().partition("\n")[0][:60]
    declared = re.sub(r"([][().*+?^$|{}\\])", r"\\\1", f"{error.type}: {first}")
    literal = f"'{declared}'" if "'" not in declared else json.dumps(declared, ensure_ascii=False)
    return str(ADVICE["outcomes"]["raised"].format(literal=literal))


def without_arrays(engine: Engine) -> str:
    """Return the reason why gradients of arrays cannot be tried, or an empty string."""
    features = engine.adapter.features
    if "arrays" not in features or "seed" in features or "sum" in engine.operators:
        return ""
    return "the engine takes no seed and has no `sum`, so gradients of arrays cannot be tried: add one of them"


PROGRAMS: Final = parsed_toml(Path(__file__).with_name("plain_programs.toml"))

TWICE: Final = ("same", "first_again", "second_again")
"""Kinds of programs of one operator of two operands that use ``x`` twice."""

SIGNS: Final[Mapping[str, str]] = MappingProxyType({"add": "+", "multiply": "*"})
"""Operators of two operands that plain programs use, with their signs in formulas."""

LEAVES: Final = tuple(Leaf(n, Constant.of(np.array(v)), requires_grad=True) for n, v in TRIALS["leaves"].items())
"""Operands of plain programs."""

_PRODUCTS: Final = tuple(leaf.value.to_numpy().item() * LEAVES[0].value.to_numpy().item() for leaf in LEAVES[::-1])

WITH_KEPT_GRADIENTS: Final = MappingProxyType({
    name: tuple((across * times, along * again) for times, again in TRIALS["kept"])
    for name, (across, along) in (("add", (1, 1)), ("multiply", _PRODUCTS))
})
"""Gradients of ``x`` and ``y`` after two backwards from `(x + y) + x` or `(x * y) * x` if results keep their gradients.

In the second pair the output also adds the seed to the gradient that it kept.
"""


@dataclass(frozen=True, slots=True)
class PlainProgram:
    """A program that reads the gradients of ``x`` and ``y`` after a backward from each output, and its formula."""

    formula: str
    scenario: Scenario

    @classmethod
    def of(cls, kind: str, operator: str) -> PlainProgram:
        """Return the program of a kind, a row of `plain_programs.toml`, with an operator."""
        fields = {"name": operator, "sign": SIGNS.get(operator, ""), **{leaf.name: leaf.to_text() for leaf in LEAVES}}
        formula, scenario = (PROGRAMS[kind][member].format(**fields) for member in ("formula", "scenario"))
        return cls(formula, parse(scenario))

    def run(self, engine: Engine) -> Finding | None:
        """Run the program on an engine and return its finding, or None if the engine cannot run it."""
        if engine.absent(self.scenario) or not required_features(self.scenario) <= engine.adapter.features:
            return None
        finding = examine(self.scenario, engine)
        return None if finding.failed and finding.outcome not in {"wrong", "inaccurate"} else finding


def suspected_faults(engine: Engine) -> list[str]:
    """Return a description of each fault that plain programs show, one line each.

    There are none if no operator has a right gradient, since the templates of the adapter may be wrong. If sums or
    products are wrong, nothing else is tried.
    """
    if not any(_runs_right(_once(name), engine) for name in PLAIN):
        return []
    if faults := faults_of_one_backward(engine):
        return faults
    right = (name for name in SIGNS if _runs_right(_once(name), engine))
    repeated = (_first_wrong([PlainProgram.of("two_outputs", name)], engine) for name in right)
    others = (_first_wrong((_once(name), _with_sum(name)), engine, name) for name in PLAIN if name not in SIGNS)
    return [*islice(filter(None, repeated), 1), *filter(None, others)]


def faults_of_one_backward(engine: Engine) -> list[str]:
    """Return a description of each fault of sums and products in programs with a single backward, one line each.

    If both operators fail only where ``x`` is used twice, the fault is in neither, and no operator is named.
    """
    own = {name: (_once(name), *(PlainProgram.of(kind, name) for kind in TWICE)) for name in SIGNS}
    faults = [line for name, programs in own.items() if (line := _first_wrong(programs, engine, name))]
    if len(faults) == len(SIGNS) and all(_runs_right(_once(name), engine) for name in SIGNS):
        return [_first_wrong(own["add"], engine)]
    return faults or list(filter(None, [_first_wrong([_with_sum("multiply")], engine)]))


def sends_kept_gradients_again(engine: Engine) -> bool:
    """Return True if a second backward of a graph also propagates the gradients that results kept of the first.

    micrograd works like this. It is not a fault: programs with one backward are right, and so are backwards of separate
    graphs. After a second backward of one graph the gradients are exactly those that kept gradients lead to. An engine
    that overwrites, doubles or loses gradients gives others, or has other programs wrong as well, and its fault is
    reported.
    """
    if suspected_faults(engine):
        return False
    offered = [name for name in SIGNS if name in engine.operators]
    return bool(offered) and all(_after_two_backwards(name, engine) in WITH_KEPT_GRADIENTS[name] for name in offered)


def _after_two_backwards(name: str, engine: Engine) -> tuple[float, ...]:
    """Return the gradients of ``x`` and ``y`` that exist after two backwards of one graph, to seven digits."""
    seen = observe(PlainProgram.of("two_backwards", name).scenario, engine)[-2:]
    return tuple(float(f"{each.array.item():.7g}") for each in seen if each.array is not None and each.array.size == 1)


def _first_wrong(programs: Iterable[PlainProgram], engine: Engine, operator: str = "") -> str:
    """Describe the first program with a wrong gradient, and name the operator. Stop at a program that does not run."""
    for program in programs:
        finding = program.run(engine)
        if finding is None:
            break
        if finding.outcome == "wrong":
            where = f" in {operator}" if operator else ""
            at = ", ".join(f"{leaf.name} = {leaf.value.to_numpy()}" for leaf in program.scenario.leaves)
            return f"suspected fault{where}: backward from {program.formula} at {at}: {plain_line(finding.message)}"
    return ""


def _runs_right(program: PlainProgram, engine: Engine) -> bool:
    """Return True if an engine runs the program and all its gradients are right."""
    finding = program.run(engine)
    return finding is not None and finding.outcome != "wrong"


def _once(name: str) -> PlainProgram:
    """Return a program that uses an operator once."""
    return PlainProgram.of("once_of_two" if name in SIGNS else "once", name)


def _with_sum(name: str) -> PlainProgram:
    """Return a program that uses ``x`` in an operator and again in a sum with the result."""
    return PlainProgram.of("square_with_sum" if name == "multiply" else "with_sum", name)
