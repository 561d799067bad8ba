"""Isolation of a failure: other operators in its scenario, and parts of it that fail by themselves.

An operator is tried by itself, so that it is not blamed for faults of other parts of the engine. Other forms have no
repeated operands, constants, narrow dtypes or seeds.

A diamond of tanh tests the same as one of sin. A replacement must lead to the same kinds of predictions at every step,
and to finite numbers: a result that no rule saves is not replaced by one that is saved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from itertools import product
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from refgrad.generation import Role
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Finding
from refgrad.grading.settings import NUMBERS
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate
from refgrad.lifecycle import Fails, Gradient, Prediction, predict
from refgrad.native.engine import Engine
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Backward, Constant, Grad, Jvp, Leaf, Read, Scenario, ScenarioError, Step, ZeroGrad
from refgrad.scenario.rewrite import fresh_name, mapped, replaced, with_constants, with_dtypes, without_gradients_of

SMOOTH: Final = ("sin", "tanh", "sigmoid", "cos", "exp", "square", "softplus", "sqrt", "reciprocal", "log")
"""Smooth functions of one operand. Those whose results stay small when they are nested come first."""

ROLES: Final[Mapping[Role, tuple[str, ...]]] = MappingProxyType({
    "sum": ("add", "subtract"),
    "product": ("multiply", "divide"),
    "smooth": SMOOTH,
})
"""Operators that can fill each role, the simplest first."""

REDUCTIONS: Final = ("sum", "mean")

DOUBLED: Final = ("multiply", "add")
"""Operators of two operands that are functions of one operand if both operands are the same."""


@lru_cache(maxsize=2**12)
def filled(scenario: Scenario, offered: frozenset[str], *, arrays: bool) -> Scenario:
    """Return the scenario with offered operators in place of others, on scalars if there are no ``arrays``.

    If no operators fit, the scenario is returned as it is.
    """
    if arrays and scenario.operators <= offered:
        return scenario
    expected = _kinds(scenario)
    for shaped in _shaped(scenario, offered, arrays=arrays):
        missing = sorted(shaped.operators - offered)
        for fillers in product(*(_fillers(name, offered) for name in missing)):
            other = _with(shaped, dict(zip(missing, fillers, strict=True)))
            if other is not None and _kinds(other) == expected:
                return other
    return scenario


def _shaped(scenario: Scenario, offered: frozenset[str], *, arrays: bool) -> Iterator[Scenario]:
    """Yield the scenario if there are ``arrays``, and the same on scalars if not, or if a reduction is not offered."""
    if arrays:
        yield scenario
    if not arrays or scenario.operators & {*REDUCTIONS} - offered:
        on_scalars = _on_scalars(scenario)
        if on_scalars is not None:
            yield on_scalars


def _on_scalars(scenario: Scenario) -> Scenario | None:
    """Return the scenario with the first number of each array and without reductions, or None if it is invalid."""
    names: dict[str, str] = {}

    def without_reduction(step: Step) -> tuple[Step, ...]:
        if isinstance(step, Apply) and step.operator in REDUCTIONS:
            names[step.name] = names.get(step.arguments[0], step.arguments[0])
            return ()
        return (step.renamed(names),)

    try:
        scalars = with_constants(scenario, lambda each: Constant.of(each.to_numpy().ravel()[0], each.dtype))
        return Scenario(replaced(scalars.steps, Step, without_reduction))
    except (ScenarioError, IndexError):
        return None


def _fillers(name: str, offered: frozenset[str]) -> list[tuple[str, bool]]:
    """Return the operators that can replace another one, and whether each takes its operand twice."""
    of_one = name in {*SMOOTH, "negative"}
    likes = SMOOTH if of_one else next((names for names in (*ROLES.values(), REDUCTIONS) if name in names), ())
    others = [(other, False) for other in likes if other in offered]
    return others + [(other, True) for other in DOUBLED if of_one and other in offered]


def _with(scenario: Scenario, fillers: Mapping[str, tuple[str, bool]]) -> Scenario | None:
    """Return the scenario with replaced operators; None if a value is no longer finite, or paths are too many."""
    paths = Counter[str]()

    def filled_in(step: Apply) -> Apply:
        operator, doubled = fillers.get(step.operator, (step.operator, False))
        other = replace(step, operator=operator, arguments=step.arguments * (1 + doubled))
        paths[step.name] = sum(paths[name] or 1 for name in other.arguments)
        return other

    steps = mapped(scenario.steps, Apply, filled_in)
    if max(paths.values(), default=0) > NUMBERS["operators"]["most_paths"]:
        return None
    try:
        filled = Scenario(steps)
        return filled if _finite(filled) >= _finite(scenario) else None
    except (ScenarioError, ScenarioEvaluationError):
        return None


def _finite(scenario: Scenario) -> set[str]:
    """Return the names of the tensors with only finite numbers. Gradients that are recorded are not evaluated."""
    with np.errstate(all="ignore"):
        return {name for name, value in evaluate(scenario, Float64()).items() if np.all(np.isfinite(value))}


def _kinds(scenario: Scenario) -> list[tuple[object, ...]]:
    """Return for each step, except reductions, the part of the prediction that other operators leave unchanged."""
    steps = zip(scenario.steps, predict(scenario), strict=True)
    return [_kind(p) for step, p in steps if not (isinstance(step, Apply) and step.operator in REDUCTIONS)]


def _kind(prediction: Prediction) -> tuple[object, ...]:
    """Return the part of a prediction that stays the same if the scenario has other operators."""
    if isinstance(prediction, Gradient):
        return Gradient, len(prediction.contributions), prediction.certain
    return type(prediction), getattr(prediction, "kind", None), getattr(prediction, "holds", None)


LASTING = Leaf | Apply | Grad | Jvp | Backward | Read | ZeroGrad
"""Types of steps that change no tensor."""

TRIED_IN_DTYPE: Final = NUMBERS["operators"]["tried_in_a_dtype"]
"""Number of scenarios that show whether an operator runs in a dtype at all."""

KEPT_DTYPES: Final = "dtypes/gradients_keep"
"""Prefix of the behaviour without which no result is right in a dtype other than float64."""

EMPTY: Final = "empty"
"""Name of the ingredient for arrays without entries. Every family can draw scenarios without such arrays."""

WEIGHT: Final = "multiply"
"""Operator that multiplies outputs by weights."""


@cache
def shows_arrays(scenario: Scenario) -> bool:
    """Return True if a scenario reads something, changes no tensor, and expects no error."""
    reads = [step for step in scenario.steps if isinstance(step, Read)]
    lasting = all(isinstance(step, LASTING) for step in scenario.steps)
    return bool(reads) and lasting and not any(isinstance(p, Fails) for p in predict(scenario))


def isolated(operator: str) -> Scenario:
    """Return a scenario that applies one operator to scalars and reads the gradients of all its operands."""
    names = operator_table()[operator].argument_names
    leaves = [Leaf(name, Constant.of(np.array(float(n))), requires_grad=True) for n, name in enumerate(names, 2)]
    return Scenario((*leaves, Apply("out", operator, names), Backward("out"), *(Read("grad", name) for name in names)))


def isolated_applications(scenario: Scenario, operator: str) -> Iterator[Scenario]:
    """Yield each application of an operator in a scenario as a scenario of its own, with the same operands."""
    values = evaluate(scenario, Float64())
    constants = {leaf.name for leaf in scenario.leaves if not leaf.requires_grad}
    for step in scenario.applications:
        needed = dict.fromkeys(name for name in step.arguments if name not in constants)
        if step.operator == operator and needed and values.keys() >= {step.name, *step.arguments}:
            yield _isolated(step, values, needed)


def _isolated(step: Apply, values: Mapping[str, Any], needed: Collection[str]) -> Scenario:
    seed = np.resize(NUMBERS["operators"]["entries_of_seeds"], values[step.name].shape)
    leaves = (Leaf(name, Constant.of(values[name]), name in needed) for name in dict.fromkeys(step.arguments))
    reads = (Read("grad", name) for name in needed)
    backward = Backward(step.name, Constant.of(seed), retain_graph=False)
    return Scenario((*leaves, step, backward, *reads, Read("value", step.name)))


def with_own_operands(scenario: Scenario) -> Scenario:
    """Return the scenario with a separate leaf for each repetition of a leaf among the operands of an operator.

    It is for engines that lose contributions if a tensor is used twice, which is no fault of the operator.
    """
    leaves = {leaf.name: leaf for leaf in scenario.leaves}
    copies: list[Leaf] = []

    def with_copies(step: Apply) -> tuple[Step, ...]:
        before, arguments = len(copies), list(step.arguments)
        for index, name in enumerate(step.arguments):
            if name in step.arguments[:index] and name in leaves:
                copies.append(replace(leaves[name], name=f"{name}_again_{len(copies) + 1}"))
                arguments[index] = copies[-1].name
        return (*copies[before:], replace(step, arguments=tuple(arguments)))

    steps = replaced(scenario.steps, Apply, with_copies)
    return Scenario((*steps, *(Read("grad", leaf.name) for leaf in copies if leaf.requires_grad)))


def without_constants(scenario: Scenario) -> Scenario:
    """Return the scenario with gradients required of every operand.

    It is for engines that handle constant operands incorrectly.
    """
    return Scenario(mapped(scenario.steps, Leaf, lambda leaf: replace(leaf, requires_grad=leaf.value.dtype != "bool")))


def with_one_leaf(scenario: Scenario) -> Scenario:
    """Return the scenario with a gradient required of one operand only.

    It is for engines that compute gradients for only some of the leaves.
    """
    required = [leaf.name for leaf in scenario.leaves if leaf.requires_grad]
    return without_gradients_of(scenario, required[1:])


def with_operands_read(scenario: Scenario, *, early: bool) -> Scenario:
    """Return the scenario with a read of every operand, which neither an operator nor its rule may change.

    With ``early``, all values are read before the first backward. It is for engines whose backward changes values
    whatever the rule.
    """
    reads = [Read("value", leaf.name) for leaf in scenario.leaves if leaf.value.dtype != "bool"]
    if not early:
        return Scenario((*scenario.steps, *reads))
    values = [step for step in scenario.steps if isinstance(step, Read) and step.what == "value"]
    rest = [step for step in scenario.steps if step not in values]
    first = next((at for at, step in enumerate(rest) if isinstance(step, Backward)), len(rest))
    moved = (*values, *reads) if first < len(rest) else ()
    return Scenario((*rest[:first], *moved, *rest[first:]))


def is_about_dtype(scenario: Scenario, finding: Finding, engine: Engine) -> bool:
    """Return True if a failure is specific to the dtype: the scenario does not fail in float64.

    Unexpected errors do not count: libraries may lack an operator in a dtype, for some attributes or in combination
    with another dtype.
    """
    widened = with_dtypes(scenario, lambda _: "float64")
    return finding.outcome != "unexpected-error" and not examine(widened, engine).failed


def rare_ingredients(scenario: Scenario) -> frozenset[str]:
    """Return the rare ingredients of a scenario: operands used twice, empty arrays, numbers that are not finite."""
    arrays = [leaf.value.to_numpy() for leaf in scenario.leaves]
    present = {
        EMPTY: any(array.size == 0 for array in arrays),
        "not finite": not all(np.all(np.isfinite(array)) for array in arrays),
        "shared": any(len(set(step.arguments)) < len(step.arguments) for step in scenario.applications),
    }
    return frozenset(name for name, holds in present.items() if holds)


def starts_at_leaf(scenario: Scenario) -> bool:
    """Return True if a backward starts at a leaf, as in no drawn scenario."""
    return any(isinstance(scenario.definitions[step.output], Leaf) for _, step in scenario.backwards)


def without_seeds(scenario: Scenario, *, weighs: bool = True) -> Scenario:
    """Return a scenario with the same gradients whose backward calls start from scalars, without seeds.

    If ``weighs`` is False, the gradients are those for seeds of ones.
    """
    taken = set(scenario.definitions)
    return Scenario(replaced(scenario.steps, Step, lambda step: _seedless(step, taken, weighs=weighs)))


def _seedless(step: Step, taken: set[str], *, weighs: bool) -> Iterator[Step]:
    if not isinstance(step, Backward | Grad) or step.seed is None:
        yield step
        return
    output = step.output
    if weighs:
        weights, output = fresh_name("weights", taken), fresh_name("weighted", taken)
        yield Leaf(weights, step.seed, requires_grad=False)
        yield Apply(output, WEIGHT, (step.output, weights))
    if step.seed.shape != ():
        total = fresh_name("total", taken)
        yield Apply(total, "sum", (output,))
        output = total
    yield replace(step, output=output, seed=None)
