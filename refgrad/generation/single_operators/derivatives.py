"""Scenarios of one operator on fresh leaves, and of its fixed cases: first order, higher orders, forward mode.

Each is made of a scenario with one backward, which is continued before that backward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Final, Literal, TypeAlias

import numpy as np

from refgrad.generation.application import apply_afresh, apply_on_edge
from refgrad.generation.backward_calls import completed, random_seed
from refgrad.generation.builder import Builder
from refgrad.generation.graphs import random_scenario
from refgrad.generation.profile import COUNTS, PROBABILITIES, SHAPES, STANDARD, Choices, GenerationError, Profile
from refgrad.generation.single_operators.fixed_cases import entries, fixed_cases, plain_cases, subsets, various
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import Operator, operator_table
from refgrad.operators.differentiation import bending
from refgrad.operators.operator import Shape
from refgrad.scenario import Apply, Backward, Constant, Grad, Jvp, Leaf, Read, Scenario, Step
from refgrad.scenario.rewrite import fresh_name, in_modes, mapped, needed

ANOTHER: Final = 2**70
"""Offset added to a seed to draw other scenarios, or to make choices that are independent of those of the scenario."""

WEIGHTED_GRADIENT: Final = PROBABILITIES["weighted_gradient"]

THIRD_ORDER, FORWARD = 2 * ANOTHER, 4 * ANOTHER
"""The same for third order and for forward mode."""


def operator_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that applies one operator once to fresh leaves.

    The profile need not allow the operator. Without seeds, the output is a scalar, or is reduced to one by an operator
    that the profile allows.

    Raises :class:`GenerationError` if the profile admits none.
    """
    return _first_success(seed, operator_table()[operator], profile, apply_afresh)


def edge_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that applies one operator with at least one entry on a declared edge.

    Raises :class:`GenerationError` if the operator has no edge, or the profile admits none.
    """
    row = operator_table()[operator]
    if not row.edges:
        raise GenerationError(f"operator {operator!r} declares no edge")
    return _first_success(seed, row, profile, _apply_on_edge)


def scenario_with_entries(seed: int, operator: str, profile: Profile) -> Scenario:
    """Return a scenario of one operator without empty arrays, which an engine need not record."""
    for attempt in range(COUNTS["attempts_at_entries"]):
        scenario = operator_scenario(seed + attempt * ANOTHER, operator, profile)
        if all(array.size for array in evaluate(scenario, Float64()).values()):
            return scenario
    raise GenerationError(f"the profile admits only empty arrays for operator {operator!r}")


def _first_success(
    seed: int, operator: Operator, profile: Profile, apply: Callable[[Builder, Operator], bool]
) -> Scenario:
    choices = Choices(seed)
    single = replace(
        profile, max_backwards=1, constants=PROBABILITIES["constant_operand"], special=PROBABILITIES["special_operand"]
    )
    shapes = [shape for shape in SHAPES["operator"] if len(shape) <= single.rank]
    with np.errstate(all="ignore"):
        for _ in range(COUNTS["attempts_at_an_operator"]):
            builder = Builder(single, choices.choice(shapes), choices)
            applied = apply(builder, operator) and builder.results[0].requires_grad
            scenario = completed(builder) if applied else None
            if scenario is not None:
                return scenario
    raise GenerationError(f"the profile admits no scenario for operator {operator.name!r}")


def _apply_on_edge(builder: Builder, operator: Operator) -> bool:
    """Apply the operator near its edges, and return True if an entry is on one: equal numbers need not be a tie."""
    if not apply_on_edge(builder, operator):
        return False
    result = builder.results[0]
    return result.applied.on_limit or result.applied.distance_to_kink(result.array) == 0


Nonlinearity: TypeAlias = Literal["none", "weights", "square"]
"""How an output is changed before it is differentiated: not at all, multiplied by a leaf, or squared."""


class Continuation:
    """Builder of a scenario that begins with the steps before the only backward of another scenario.

    ``output`` is the output of that backward. ``needed`` are the steps that it depends on, and ``leaves`` the leaves
    among them that require grad. ``shapes`` are the shapes of all values.
    """

    def __init__(self, first: Scenario, choices: Choices, profile: Profile) -> None:
        """Take over all steps before the backward."""
        ((at, self.backward),) = first.backwards
        self.choices, self.profile, self.steps = choices, profile, [*first.steps[:at]]
        self.shapes = {name: array.shape for name, array in evaluate(first, Float64()).items()}
        self.output = self.backward.output
        self.needed = needed(self.steps, {self.output})
        self.leaves = [step.name for step in self.needed if isinstance(step, Leaf) and step.requires_grad]

    def _add(self, step: Leaf | Apply | Grad, shape: Shape) -> str:
        self.steps.append(step)
        self.shapes[step.name] = shape
        return step.name

    def random_seed(self, name: str) -> Constant:
        """Return random numbers of either sign in the shape of a value."""
        return random_seed(self.choices, self.shapes[name], self.profile)

    def add_leaf(self, name: str, numbers: Constant, *, requires_grad: bool) -> str:
        """Add a leaf."""
        return self._add(Leaf(name, numbers, requires_grad), numbers.shape)

    def add_product(self, name: str, x: str, y: str) -> str:
        """Multiply two values of one shape."""
        return self._add(Apply(name, "multiply", (x, y)), self.shapes[x])

    def add_weighted(self, name: str, value: str, weights: str) -> str:
        """Multiply a value by a new leaf of random numbers."""
        return self.add_product(name, value, self.add_leaf(weights, self.random_seed(value), requires_grad=True))

    def add_sum(self, name: str, x: str) -> str:
        """Sum a value over its first axis."""
        return self._add(Apply(name, "sum", (x,), (("axis", 0),)), self.shapes[x][1:])

    def add_gradient(self, name: str, output: str, leaf: str, seed: Constant | None) -> str:
        """Record the gradient of an output with respect to a leaf."""
        return self._add(Grad(name, output, leaf, seed), self.shapes[leaf])

    def ended(self, *steps: Step) -> Scenario:
        """Return the scenario that ends with these steps."""
        return Scenario((*self.steps, *steps))


def second_order_scenario(
    seed: int, operator: str, profile: Profile = STANDARD, *, weighted: bool | None = None
) -> Scenario:
    """Return the scenario of a seed that applies one operator to fresh leaves and differentiates twice.

    The seeded gradient with respect to one leaf is recorded. A backward starts from it, and the gradients of the leaves
    are read. If ``weighted``, the output of the operator is first multiplied by a leaf of its shape. If that is None,
    it is multiplied half of the time, and always if the derivative of the operator does not depend on its operands.

    Raises :class:`GenerationError` if the profile admits none.
    """
    choices = Choices(seed + ANOTHER)
    if weighted is None:
        weighted = not saves_operands(operator) or choices.happens("weighted_output")
    first = scenario_with_entries(seed, operator, profile)
    return differentiated_twice(first, choices, profile, weighted=weighted)


def saves_operands(operator: str) -> bool:
    """Return True if the derivative of an operator depends on its operands."""
    row = operator_table()[operator]
    return any(row.saves(argument.name) for argument in row.arguments)


def double_backward_scenario(seed: int, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that differentiates a gradient of a random graph.

    Raises :class:`GenerationError` if the profile admits none.
    """
    choices = Choices(seed + ANOTHER)
    first = random_scenario(seed, replace(profile, max_backwards=1, empty=0.0))
    multiplies = profile.allows("multiply")
    weighted = multiplies and choices.happens("weighted_output")
    return differentiated_twice(
        first, choices, profile, weighted=weighted, penalty=PROBABILITIES["penalty"] if multiplies else 0.0
    )


def differentiated_twice(  # noqa: PLR0913 (each of them is the caller's to say, by name)
    first: Scenario, choices: Choices, profile: Profile, *, weighted: bool, penalty: float = 0.0, by: str = ""
) -> Scenario:
    """Return the scenario with its backward replaced by two, as in :func:`second_order_scenario`.

    ``penalty`` is the probability that the second backward starts from the square of the gradient. If ``by`` names a
    leaf, the first gradient is with respect to that leaf, and every gradient is read.
    """
    continuation = Continuation(first, choices, profile)
    output, leaves = continuation.output, continuation.leaves
    leaf = by or choices.choice(leaves)
    if weighted:
        output = continuation.add_weighted(fresh_name("weighted", set(continuation.shapes)), output, "w")
        leaves = [*leaves, "w"]
    start = gradient = continuation.add_gradient("h", output, leaf, continuation.backward.seed)
    if choices.boolean(penalty):
        start = continuation.add_product("penalty", gradient, gradient)
    backward = Backward(start, continuation.random_seed(leaf))
    read = [choices.choice(leaves)] if not by and choices.happens("one_read") else leaves
    return continuation.ended(backward, *_gradients(read), Read("value", "h"))


def _gradients(leaves: list[str]) -> list[Read]:
    return [Read("grad", leaf) for leaf in leaves]


def third_order_scenario(
    seed: int, operator: str, profile: Profile = STANDARD, *, weighted_gradient: float = WEIGHTED_GRADIENT
) -> Scenario:
    """Return the scenario of a seed that applies one operator to fresh leaves and differentiates three times.

    The seeded gradient with respect to one leaf is recorded, then the gradient of that with respect to a leaf that it
    is certain to depend on. A backward starts from there, and the gradients of the leaves are read. If there is no such
    leaf, and else sometimes, the output of the operator is first multiplied by a leaf of its shape or by itself. If the
    derivative of an operator is always zero, as that of ``sign``, an engine need not record the second gradient.
    ``weighted_gradient`` is the probability that the first gradient is multiplied by a leaf, so that the cotangent of
    the second one is recorded too: the third derivatives of a linear operator consist of nothing else.

    Raises :class:`GenerationError` if the profile admits none.
    """
    choices = Choices(seed + THIRD_ORDER)
    first = scenario_with_entries(seed, operator, profile)
    continuation = Continuation(first, choices, profile)
    plain = bool(_pairs(continuation, "none", continuation.leaves)) and choices.happens("plain_output")
    return _thrice(continuation, "none" if plain else _nonlinearity(choices), weighted_gradient)


def _nonlinearity(choices: Choices) -> Nonlinearity:
    return "weights" if choices.happens("weighted_output") else "square"


def _thrice(continuation: Continuation, nonlinearity: Nonlinearity, weighted_gradient: float, by: str = "") -> Scenario:
    """Return the scenario with its backward replaced by three.

    The first gradient is with respect to the leaf ``by``, and that of a square with respect to the same leaf again,
    unless there is none or nothing depends on that leaf.
    """
    output, leaves = continuation.output, continuation.leaves
    if nonlinearity == "weights":
        output = continuation.add_weighted("w_output", output, "w")
        leaves = [*leaves, "w"]
    elif nonlinearity == "square":
        output = continuation.add_product("squared", output, output)
    pairs = _pairs(continuation, nonlinearity, _with_nonzero_derivative(continuation, leaves))
    own = [pair for pair in pairs if pair[0] == by and (nonlinearity != "square" or pair[1] == by)]
    leaf, other = continuation.choices.choice(own or pairs)
    gradient = continuation.add_gradient("h", output, leaf, continuation.backward.seed)
    if continuation.choices.boolean(weighted_gradient):
        gradient = continuation.add_weighted("v_h", gradient, "v")
        leaves = [*leaves, "v"]
    continuation.add_gradient("g", gradient, other, continuation.random_seed(leaf))
    backward = Backward("g", continuation.random_seed(other))
    return continuation.ended(backward, *_gradients(leaves), Read("value", "h"), Read("value", "g"))


def _with_nonzero_derivative(continuation: Continuation, leaves: list[str]) -> list[str]:
    """Return the leaves with a derivative that is not identically zero, or all leaves if only the weights have one."""
    reached = {continuation.output}
    for step in reversed(continuation.needed):
        if isinstance(step, Apply) and step.name in reached:
            row = operator_table()[step.operator]
            arguments = [a.name for a in row.arguments for _ in (step.arguments if a.variadic else "1")]
            reached.update(x for name, x in zip(arguments, step.arguments, strict=True) if not row.vanishes(name))
    kept = [leaf for leaf in leaves if leaf in reached]
    return [*kept, *(leaf for leaf in leaves if leaf == "w")] if kept else leaves


def _pairs(continuation: Continuation, nonlinearity: Nonlinearity, leaves: list[str]) -> list[tuple[str, str]]:
    """Return the leaves whose gradient may be recorded, each with one that the gradient is certain to depend on."""
    steps = [step for step in continuation.needed if isinstance(step, Apply)]

    def depends(leaf: str, other: str) -> bool:
        if nonlinearity == "square":
            return True
        if nonlinearity == "weights" and "w" in (leaf, other):
            return leaf != other
        return any(_gradient_depends_on(step, leaf, other) for step in steps)

    return [(leaf, other) for leaf in leaves for other in leaves if depends(leaf, other)]


def _gradient_depends_on(step: Apply, leaf: str, other: str) -> bool:
    """Return True if every engine records that the gradient of an application by one leaf depends on another."""
    row = operator_table()[step.operator]
    if row.formula is None:
        return False
    operands = dict(zip(row.argument_names, step.arguments, strict=True))
    names = {name for argument, operand in operands.items() if operand == leaf for name in bending(row, argument)}
    return any((name == "out" and other in step.arguments) or operands.get(name) == other for name in names)


def forward_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that differentiates one operator on fresh leaves in both modes.

    Some of the leaves that require grad have tangents, and the tangent of the output is read. Then a backward starts
    from the same output, and the gradients of all leaves are read.

    Raises :class:`GenerationError` if the profile admits none.
    """
    first = scenario_with_entries(seed, operator, profile)
    return with_tangents(first, Choices(seed + FORWARD), profile, PROBABILITIES["moving_leaf"])


def forward_graph_scenario(seed: int, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that differentiates a random graph in both modes.

    Raises :class:`GenerationError` if the profile admits none.
    """
    first = random_scenario(seed, replace(profile, max_backwards=1, empty=0.0))
    return pushed_forward(first, Choices(seed + FORWARD), profile)


def pushed_forward(first: Scenario, choices: Choices, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario differentiated in both modes: some leaves stand still, others have tangents of zeros."""
    scenario = with_tangents(first, choices, profile, PROBABILITIES["moving_leaf"])
    (pushed,) = scenario.jvps

    def stopped(tangent: Constant) -> Constant:
        return Constant.of(np.zeros(tangent.shape), tangent.dtype) if choices.happens("zero_tangent") else tangent

    still = replace(pushed, tangents=tuple((leaf, stopped(tangent)) for leaf, tangent in pushed.tangents))
    return Scenario(mapped(scenario.steps, Jvp, lambda _: still))


def with_tangents(
    first: Scenario, choices: Choices, profile: Profile, moving: float = 1.0, by: Sequence[str] = ()
) -> Scenario:
    """Return the scenario with a directional derivative before its backward.

    ``moving`` is the probability that a leaf has a tangent, unless the leaves ``by`` have one.
    """
    continuation = Continuation(first, choices, profile)
    moved = by or [leaf for leaf in continuation.leaves if choices.boolean(moving)]
    moved = moved or [choices.choice(continuation.leaves)]
    tangents = tuple((leaf, continuation.random_seed(leaf)) for leaf in moved)
    pushed = Jvp("t", continuation.output, tangents)
    return continuation.ended(pushed, continuation.backward, Read("value", "t"), *_gradients(continuation.leaves))


@lru_cache(maxsize=COUNTS["remembered_cases"])
def second_order_cases(
    operator: str, profile: Profile, most: int | None = None, *, weighted: bool | None
) -> tuple[Scenario, ...]:
    """Return scenarios that differentiate twice, made of the first ``most`` fixed cases of the operator.

    Each is differentiated with respect to every operand first. The output is multiplied by a leaf unless ``weighted``
    is False.
    """
    return tuple(
        differentiated_twice(case, Choices(number), profile, weighted=weighted is not False, by=leaf)
        for number, (case, leaf) in enumerate(_by_each_leaf(operator, profile, most))
    )


MIXED_MODES: Final = ((False, True), (True, False), (True, True))
"""Whether the first and the second of two derivatives are in forward mode: all but reverse over reverse."""


def mixed_modes_scenario(
    seed: int, operator: str, profile: Profile = STANDARD, *, weighted: bool | None = None
) -> Scenario:
    """Return the scenario of :func:`second_order_scenario` with one of its derivatives in forward mode, or both."""
    return in_modes(
        second_order_scenario(seed, operator, profile, weighted=weighted), MIXED_MODES[seed % len(MIXED_MODES)]
    )


def mixed_modes_cases(
    operator: str, profile: Profile, most: int | None = None, *, weighted: bool | None
) -> tuple[Scenario, ...]:
    """Return the first of :func:`second_order_cases` by each of the operands, in all mixed modes."""
    cases = second_order_cases(operator, profile, most, weighted=weighted)
    first = {step.leaf: case for case in reversed(cases) for step in case.gradients}
    return tuple(in_modes(case, modes) for case in first.values() for modes in MIXED_MODES)


@lru_cache(maxsize=COUNTS["remembered_cases"])
def third_order_cases(operator: str, profile: Profile, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios that differentiate three times, made of the first ``most`` fixed cases of the operator.

    Each is differentiated with respect to every operand first. The output and the first gradient are multiplied by
    leaves, so that the third derivative is zero only if the derivative of the operator is. A few of an operator without
    a formula are squared instead, and then differentiated three times with respect to operands.
    """
    cases = list(_by_each_leaf(operator, profile, most))
    curved = operator_table()[operator].formula is None and saves_operands(operator)
    squared = [each for each in cases if entries(each[0]) > COUNTS["few_entries"]][: COUNTS["squares"] * curved]
    chosen: list[tuple[Nonlinearity, float, tuple[Scenario, str]]]
    chosen = [*(("weights", 1.0, each) for each in cases), *(("square", 0.0, each) for each in squared)]
    return tuple(
        _thrice(Continuation(case, Choices(number), profile), nonlinearity, weighted, by=leaf)
        for number, (nonlinearity, weighted, (case, leaf)) in enumerate(chosen)
    )


@lru_cache(maxsize=COUNTS["remembered_cases"])
def forward_cases(operator: str, profile: Profile, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios with tangents for all leaves, and for each leaf, made of the first ``most`` fixed cases.

    In one of them, one leaf is used for several operands.
    """
    cases = list(_various(operator, profile, most))
    repeated = (case for case in fixed_cases(operator, profile, most) if _has_repeated(case.applications[0].arguments))
    moving: list[tuple[Scenario, Sequence[str]]] = [(case, ()) for case in (*cases, *islice(repeated, 1))]
    moving += [(case, (leaf.name,)) for case in cases[:1] for leaf in case.leaves if leaf.requires_grad]
    return tuple(dict.fromkeys(with_tangents(case, Choices(0), profile, by=by) for case, by in moving))


def _has_repeated(names: Sequence[str]) -> bool:
    return len(set(names)) < len(names)


@lru_cache(maxsize=COUNTS["remembered_cases"])
def subsets_of_second_order(
    operator: str, profile: Profile, most: int | None = None, *, weighted: bool | None
) -> tuple[Scenario, ...]:
    """Return scenarios that differentiate twice by some of the operands: for each choice of them, by each one first.

    They are made of one of the first ``most`` fixed cases of the operator. The output is multiplied by a leaf unless
    ``weighted`` is False.
    """
    plain = (case for case in plain_cases(operator, profile, most) if len(case.leaves) > 1)
    base = next(filter(_has_entries, plain), None)
    chosen = ((subset, leaf) for subset in (subsets(base) if base is not None else ()) for leaf in subset.leaves)
    twice = (
        differentiated_twice(subset, Choices(0), profile, weighted=weighted is not False, by=leaf.name)
        for subset, leaf in chosen
        if leaf.requires_grad
    )
    return tuple(islice(twice, COUNTS["most_subsets_of_second_order"]))


def _has_entries(scenario: Scenario) -> bool:
    """Return True if every operand has several entries, and the result has some."""
    (first, *_) = scenario.applications
    return all(leaf.value.size > 1 for leaf in scenario.leaves) and bool(evaluate(scenario, Float64())[first.name].size)


def _by_each_leaf(operator: str, profile: Profile, most: int | None) -> Iterator[tuple[Scenario, str]]:
    """Yield various fixed cases, each with every leaf that requires grad."""
    cases = ((c, leaf.name) for c in _various(operator, profile, most) for leaf in c.leaves if leaf.requires_grad)
    return islice(cases, COUNTS["most_cases"])


def _various(operator: str, profile: Profile, most: int | None) -> Iterator[Scenario]:
    return islice(various(fixed_cases(operator, profile, most)), COUNTS["most_cases"])
