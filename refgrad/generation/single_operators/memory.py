"""Scenarios that show how the rule of one operator treats memory: of its operands, of cotangents and of its own.

Libraries whose tensors have strides return views from transposing, slicing with a step, reversing and broadcasting. A
rule that reads the memory of such an array in order is wrong. Operands may be random views, and every run tries a fixed
set of views of operands, of outputs and of each other. Contracts show what a rule changes besides gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice, permutations
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from refgrad.generation.admission import MARGIN, AppliedOperator, Array
from refgrad.generation.attributes.rules import accepts
from refgrad.generation.backward_calls import random_seed
from refgrad.generation.builder import Builder, Operand
from refgrad.generation.profile import COUNTS, MAGNITUDES, PROBABILITIES, STANDARD, Choices, Profile
from refgrad.generation.single_operators import derivatives
from refgrad.generation.single_operators.fixed_cases import entries, fixed_cases, plain_cases, roomy, various
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate, keywords, native
from refgrad.operators import Operator, operator_table
from refgrad.operators.operator import Shape
from refgrad.scenario import Apply, AttributeValue, Backward, Constant, Detach, Leaf, Read, Scenario, Slice, Step
from refgrad.scenario.rewrite import mapped, renamed, replaced, spliced, with_seeds, with_values

Viewed: TypeAlias = tuple[Array, tuple[tuple[str, AttributeValue], ...]]
"""The numbers that a leaf must hold, and the attributes with which an operator makes the operand of it."""
Layout: TypeAlias = tuple[str, Callable[[Array], Viewed | None]]
"""An operator that makes views, and a function that returns what it needs for a given operand, or None."""


def _transposed(array: Array) -> Viewed | None:
    return (array.T, ()) if _crosses(array.shape) else None


def _flipped(array: Array) -> Viewed | None:
    return (np.flip(array), ()) if array.size > 1 else None


def _part(array: Array, shape: Shape, *index: Slice) -> Viewed:
    """Return an array of this shape that holds the operand at an index, with other numbers around it."""
    held = np.full(shape, MAGNITUDES["gap"], dtype=array.dtype)
    held[native(index)] = array
    return held, (("index", index),)


def _stepped(array: Array) -> Viewed:
    return _part(array, (*array.shape[:-1], 2 * array.shape[-1]), *[Slice()] * (array.ndim - 1), Slice(step=2))


def _stretched(array: Array) -> Viewed | None:
    return (array[:1], (("shape", array.shape),)) if len(array) > 1 else None


def _offset(array: Array) -> Viewed:
    return _part(array, (array.shape[0] + 2, *array.shape[1:]), Slice(start=2))


def _reversed(array: Array) -> Viewed:
    return array[::-1], (("index", (Slice(step=-1),)),)


def _of_wider_rows(array: Array) -> Viewed | None:
    if array.ndim < 2:  # noqa: PLR2004
        return None
    *lead, length = array.shape
    return _part(array, (*lead, length + 2), *[Slice()] * len(lead), Slice(1, length + 1))


def _with_channels_last(array: Array) -> Viewed | None:
    if array.ndim != len(LAST_TO_SECOND) or array.shape[1] == 1 or array.shape[2:] == (1, 1):
        return None
    return np.moveaxis(array, 1, -1), (("axes", LAST_TO_SECOND),)


def _after_another(array: Array) -> Viewed | None:
    return None if array.ndim else (np.array([MAGNITUDES["gap"], array[()]], dtype=array.dtype), (("index", (1,)),))


LAYOUTS: Final[Mapping[str, Callable[[Array], Viewed | None]]] = MappingProxyType({
    "transpose": _transposed,
    "flip": _flipped,
    "index": _stepped,
    "broadcast_to": _stretched,
})
"""Operators that make the views of random scenarios, each with the function that returns what it needs."""

LAST_TO_SECOND: Final = (0, 3, 1, 2)
"""Axes that make a view with channels second of an array with channels last."""

OF_CONTRACT, OF_VIEW = 2 * derivatives.ANOTHER, 4 * derivatives.ANOTHER
"""Offsets added to a seed, so that these choices are independent of those of the scenario of first order."""

NONLINEAR_SEED: Final = 7
"""Seed of the leaf by which outputs are multiplied at second order, and of the second cotangent."""

VIEWS: Final[tuple[tuple[Layout, Layout, str], ...]] = (
    (("transpose", _transposed), ("transpose", _transposed), ""),
    (("index", _reversed), ("index", _of_wider_rows), "transpose"),
    (("index", _stepped), ("index", _offset), "sum"),
    (("index", _offset), ("index", _stepped), "transpose"),
    (("index", _of_wider_rows), ("broadcast_to", _stretched), "sum"),
    (("broadcast_to", _stretched), ("flip", _flipped), "sum"),
)
"""Layout of the first operand of numbers, that of the others, and the operator that is applied to the output.

Sums are frequent, since not every spelling of a sum returns one number repeated as the cotangent.
"""

OF_SOME: Final[tuple[tuple[Layout, str], ...]] = (
    (("transpose", _with_channels_last), "sum"),
    (("index", _after_another), ""),
)
"""Layouts for arrays of four axes, and for 0-d arrays, with the operator that is applied to the output."""

OF_EACH_OTHER: Final[tuple[tuple[Callable[[str, str], Step], str], ...]] = (
    (lambda name, of: Apply(name, "flip", (of,)), ""),
    (lambda name, of: Apply(name, "index", (of,), (("index", (Slice(),)),)), "sum"),
    (lambda name, of: Apply(name, "transpose", (of,)), "transpose"),
    (Detach, ""),
)
"""Steps that make the second operand of the first, with the operator that is applied to the output.

The second operand is the first one reversed, a view of all of it, transposed, or detached.
"""


def with_random_view(scenario: Scenario, choices: Choices, profile: Profile, share: float) -> Scenario:
    """Return the scenario with one operand made a view of its leaf, by an operator that the profile allows.

    ``share`` is the probability of a view. Conditions, and operands of which the operator makes no view, do not change.
    """
    used = {name for step in scenario.applications for name in step.arguments}
    leaves = [leaf for leaf in _numbers(scenario) if leaf.name in used and leaf.value.shape and leaf.value.size]
    allowed = [name for name in LAYOUTS if profile.allows(name)]
    views = [(leaf, name, LAYOUTS[name](leaf.value.to_numpy())) for leaf in leaves for name in allowed]
    possible = [(leaf, name, viewed) for leaf, name, viewed in views if viewed is not None]
    if not choices.boolean(share) or not possible:
        return scenario
    crossed = [(leaf, name, viewed) for leaf, name, viewed in possible if name == "transpose"]
    leaf, operator, viewed = choices.choice(crossed if crossed and choices.happens("transposed_view") else possible)
    changed = _through_view(scenario, leaf, operator, viewed)
    return changed if operator != "broadcast_to" or admitted(changed, profile) else scenario


def _through_view(scenario: Scenario, leaf: Leaf, operator: str, viewed: Viewed) -> Scenario:
    """Return the scenario in which every operator takes a view in place of the leaf."""
    array, attributes = viewed
    held = replace(leaf, value=Constant.of(array, leaf.value.dtype))
    view = Apply(f"{leaf.name}_view", operator, (leaf.name,), attributes)
    steps = mapped(scenario.steps, Apply, lambda step: step.renamed({leaf.name: view.name}))
    return Scenario(replaced(steps, Leaf, lambda step: (held, view) if step == leaf else (step,)))


def admitted(scenario: Scenario, profile: Profile) -> bool:
    """Return True if every operator accepts its attributes, and stays inside of its domain and clear of its kinks."""
    builder = Builder(profile, (), Choices(0))

    def fits(step: Apply) -> bool:
        operands = [Operand.of(np.asarray(values[name]), requires_grad=True) for name in step.arguments]
        return builder.compute(operator_table()[step.operator], operands, keywords(step), margin=MARGIN) is not None

    with np.errstate(all="ignore"):
        try:
            values = evaluate(scenario, Float64())
        except ScenarioEvaluationError:
            return False
        return all(map(fits, scenario.applications))


@lru_cache(maxsize=COUNTS["remembered_cases"])
def memory_scenarios(operator: str, profile: Profile = STANDARD, most: int | None = None) -> tuple[Scenario, ...]:
    """Return fixed scenarios whose operands are views, most of them with the output transposed or summed.

    They are made of the first ``most`` fixed cases of the operator. If the output is transposed or summed, the
    cotangent that the rule receives is a view too, or one number repeated.
    """
    plain = plain_cases(operator, profile, most)
    base = max(plain, key=_crossed_operands, default=None)
    if base is None:
        return ()
    wide = roomy(profile)
    with np.errstate(all="ignore"):
        pairs = [(_viewed(base, layout, others, wide), end) for layout, others, end in VIEWS]
        pairs += [(_first(_with_view(c, _numbers(c)[0], layout, wide) for c in plain), end) for layout, end in OF_SOME]
        pairs += [(_first(_of_another(case, make, wide) for case in plain), end) for make, end in OF_EACH_OTHER]
    return tuple(dict.fromkeys(_with_output(scenario, end) for scenario, end in pairs if scenario is not None))


@lru_cache(maxsize=COUNTS["remembered_cases"])
def memory_scenarios_of_second_order(
    operator: str, profile: Profile, most: int | None = None, *, weighted: bool | None
) -> tuple[Scenario, ...]:
    """Return the first and the last of the scenarios whose operands are views of leaves, differentiated twice.

    ``weighted`` is as in :func:`second_order_scenario`, but None means False if the derivative depends on operands.
    """
    multiplied = not derivatives.saves_operands(operator) if weighted is None else weighted
    scenarios = memory_scenarios(operator, profile, most)
    views = [s for s in scenarios if not any(isinstance(step, Detach) for step in s.steps)][: len(VIEWS)]
    return tuple(
        derivatives.differentiated_twice(scenario, Choices(NONLINEAR_SEED + number), profile, weighted=multiplied)
        for number, scenario in enumerate(views[:: len(VIEWS) - 1])
    )


def _crossed_operands(scenario: Scenario) -> tuple[int, int]:
    """Return a sort key: the number of operands that a transposition reorders, at most 3, and minus the entry count."""
    return min(sum(_crosses(leaf.value.shape) for leaf in scenario.leaves), 3), -entries(scenario)


def _crosses(shape: Shape) -> bool:
    """Return True if transposing changes the order in memory."""
    return sum(length > 1 for length in shape) > 1


def _viewed(scenario: Scenario, layout: Layout, others: Layout, profile: Profile) -> Scenario | None:
    """Return the scenario with every operand of numbers made by a layout, or None if none can be."""
    changed = scenario
    for number, leaf in enumerate(leaf for leaf in _numbers(scenario) if leaf.value.shape):
        changed = _with_view(changed, leaf, others if number else layout, profile) or changed
    return None if changed == scenario else changed


def _numbers(scenario: Scenario) -> list[Leaf]:
    """Return the leaves that hold numbers."""
    return [leaf for leaf in scenario.leaves if leaf.value.dtype != "bool"]


def _with_view(scenario: Scenario, leaf: Leaf, layout: Layout, profile: Profile) -> Scenario | None:
    """Return the scenario with one operand made by a layout, or None if that does not fit."""
    operator, view = layout
    viewed = view(leaf.value.to_numpy())
    if viewed is None:
        return None
    candidate = _through_view(scenario, leaf, operator, viewed)
    return candidate if admitted(candidate, profile) else None


def _first(scenarios: Iterable[Scenario | None]) -> Scenario | None:
    return next(filter(None, scenarios), None)


def _of_another(scenario: Scenario, make: Callable[[str, str], Step], profile: Profile) -> Scenario | None:
    """Return the scenario with its second operand made of the first, or None if that does not fit."""
    first, *others = _numbers(scenario)
    view = make(others[0].name, first.name) if others else None
    transposed = isinstance(view, Apply) and view.operator == "transpose"
    if view is None or first.value.size <= 1 or (transposed and not _crosses(first.value.shape)):
        return None
    kept = [step for step in scenario.steps if not (isinstance(step, Read) and step.name == others[0].name)]
    candidate = Scenario(spliced(kept, kept.index(others[0]), view))
    ((at, backward),) = candidate.backwards
    try:
        values = evaluate(candidate, Float64())
    except ScenarioEvaluationError:
        return None
    if not AppliedOperator.of(candidate.applications[-1], values).well_formed or not admitted(candidate, profile):
        return None
    shape = values[backward.output].shape
    if backward.seed is not None and backward.seed.shape == shape:
        return candidate
    fitting = replace(backward, seed=random_seed(Choices(0), shape, profile))
    return Scenario(spliced(candidate.steps, at, fitting))


def _with_output(scenario: Scenario, operator: str) -> Scenario:
    """Return the scenario with the backward from its output transposed, or summed over its first axis.

    It is returned unchanged without an operator, and if the output has too few axes or no entries.
    """
    ((_, start),) = scenario.backwards
    seed = np.ones(()) if start.seed is None else start.seed.to_numpy()
    if operator == "transpose" and seed.ndim > 1:
        view, seen = Apply("seen", operator, (start.output,)), seed.T
    elif operator == "sum" and seed.ndim and seed.size:
        view, seen = Apply("seen", operator, (start.output,), (("axis", 0),)), np.asarray(seed[0])
    else:
        return scenario
    backward = replace(
        start, output=view.name, seed=Constant.of(seen, start.seed.dtype if start.seed is not None else None)
    )
    return Scenario(replaced(scenario.steps, Backward, lambda _: (view, backward)))


def contract_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed in which backward runs through one operator twice, with another backward between.

    The backward in between reaches only one of the leaves. It reveals gradients that share memory with each other, with
    a seed or with an operand. All of these are read. Operands may be views.

    Raises :class:`GenerationError` if the profile admits none.
    """
    plain = derivatives.scenario_with_entries(seed, operator, profile)
    first = with_random_view(plain, Choices(seed + OF_VIEW), profile, PROBABILITIES["viewed_operand"])
    return _with_three_backwards(first, Choices(seed + OF_CONTRACT), profile, PROBABILITIES["summed_output"])


def _with_three_backwards(first: Scenario, choices: Choices, profile: Profile, summed: float) -> Scenario:
    """Return the scenario with its backward run twice, and one in between that reaches only one leaf.

    ``summed`` is the probability that the output is summed.
    """
    longer = derivatives.Continuation(first, choices, profile)
    used = {name for step in longer.steps for name in step.uses}
    leaves = [leaf.name for leaf in first.leaves if leaf.requires_grad and leaf.name in used]
    chosen = choices.choice(leaves)
    numbers = longer.random_seed(chosen)
    backward = longer.backward
    if profile.allows("sum") and backward.seed is not None and longer.shapes[longer.output] and choices.boolean(summed):
        total = longer.add_sum("total", longer.output)
        backward = Backward(total, longer.random_seed(total))
    longer.add_product("between", chosen, longer.add_leaf("factor", numbers, requires_grad=False))
    between = Backward("between", longer.random_seed(chosen))
    gradients = [Read("grad", leaf) for leaf in leaves]
    values = [Read("value", name) for name in (*(leaf.name for leaf in first.leaves), longer.output)]
    kept = Backward(backward.output, backward.seed, retain_graph=True)
    return longer.ended(kept, *gradients, between, *gradients, backward, *gradients, *values)


@lru_cache(maxsize=COUNTS["remembered_cases"])
def contract_scenarios_of_ones(operator: str, profile: Profile, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios like those of `contract_scenario` with seeds of ones: then a rule may return an array it saved.

    They are made of the first ``most`` fixed cases of the operator, one of them with operands of one shape, if there is
    one: of operands that are stretched, a rule makes copies.
    """
    cases = sorted(various(fixed_cases(operator, profile, most)), key=_has_scalar_output)
    alike = [case for case in cases if len({leaf.value.shape for leaf in case.leaves}) == 1]
    chosen = list(dict.fromkeys((*alike[:1], *cases)))[: COUNTS["cases_of_ones"]]
    return tuple(_seeded_with_ones(_with_three_backwards(each, Choices(0), profile, 0.0)) for each in chosen)


def _has_scalar_output(scenario: Scenario) -> bool:
    """Return True if the output is 0-d, so that a seed may be a number, which cannot be written to."""
    return all(start.seed is None or not start.seed.shape for _, start in scenario.backwards)


def _seeded_with_ones(scenario: Scenario) -> Scenario:
    values = evaluate(scenario, Float64())
    return Scenario(with_seeds(scenario.steps, lambda start: Constant.of(np.ones(values[start.output].shape))))


def scenarios_of_freed_values(operator: str, profile: Profile, most: int | None = None) -> tuple[Scenario, ...]:
    """Return a scenario with a second backward through a graph that is freed, for an operator whose rule keeps values.

    It is made of the smallest of the first ``most`` fixed cases with several entries: without axes, a reduction may
    return its operand.
    """
    cases = (case for case in plain_cases(operator, profile, most) if entries(case) > len(case.leaves))
    chosen = islice(cases, int(derivatives.saves_operands(operator)))
    return tuple(Scenario((*case.steps[: at + 1], start)) for case in chosen for at, start in case.backwards)


@lru_cache(maxsize=COUNTS["remembered_cases"])
def applied_twice(operator: str, profile: Profile = STANDARD, most: int | None = None) -> tuple[Scenario, ...]:
    """Return a scenario that applies the operator twice before a backward from the first application.

    A rule that keeps what it needs in one variable for all applications finds there what the last one has left. The
    second application has its own operands, of the same shapes, with the same numbers in reverse order. The scenario is
    made of one of the first ``most`` fixed cases. The result is empty if none of them admits it.
    """
    cases = (case for case in plain_cases(operator, profile, most) if entries(case) > len(case.leaves))
    scenarios = (scenario for scenario in map(_with_another, cases) if admitted(scenario, profile))
    return tuple(islice(scenarios, 1))


@lru_cache(maxsize=COUNTS["remembered_cases"])
def applied_again(operator: str, profile: Profile = STANDARD, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios that apply the operator twice to the same operands, with different attributes.

    A rule that keeps what it needs in the operands finds there what the other application has left. There is one
    backward, from the first or from the second application. The scenarios are made of one of the first ``most`` fixed
    cases and the attributes of another. The result is empty if there are none.
    """
    row = operator_table()[operator]
    cases = (case for case in plain_cases(operator, profile, most) if entries(case) > COUNTS["few_entries"])
    chosen = islice(cases, COUNTS["most_cases"] if row.attributes else 0)
    pairs = sorted(permutations(chosen, 2), key=partial(_differences, row), reverse=True)
    scenarios = (
        scenario
        for case, other in pairs
        if _differences(row, (case, other)) and _admits_attributes(row, case, other)
        for scenario in _on_same_operands(case, other)
        if admitted(scenario, profile)
    )
    return tuple(islice(scenarios, 2))


def _admits_attributes(row: Operator, case: Scenario, other: Scenario) -> bool:
    """Return True if the operands of the first case admit the attributes of the other."""
    shapes = tuple(leaf.value.shape for leaf in case.leaves)
    return accepts(row, shapes, row.bind(keywords(other.applications[0])))


def _differences(row: Operator, cases: tuple[Scenario, Scenario]) -> int:
    """Return the number of attributes that differ."""
    attributes, others = (row.bind(keywords(case.applications[0])) for case in cases)
    return sum(others[name] != value for name, value in attributes.items())


def _on_same_operands(case: Scenario, other: Scenario) -> Iterator[Scenario]:
    """Yield the case with the application of the other one after its own, and with that before its own."""
    another = replace(case.applications[0], name="another", attributes=other.applications[0].attributes)
    yield Scenario(replaced(case.steps, Apply, lambda step: (step, another)))
    yield Scenario(replaced(case.steps, Apply, lambda step: (another, step)))


def _with_another(scenario: Scenario) -> Scenario:
    """Return the scenario with a second application after the first."""
    (first,) = scenario.applications
    names = {leaf.name: f"{leaf.name}_of_another" for leaf in scenario.leaves} | {first.name: "another"}
    reverse = with_values(scenario.leaves, lambda leaf: Constant.of(np.flip(leaf.value.to_numpy()), leaf.value.dtype))
    return Scenario(replaced(scenario.steps, Apply, lambda step: (step, *renamed((*reverse, step), names))))
