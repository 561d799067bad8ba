"""Scenarios of one operator on fresh leaves: first order, higher orders, forward mode.

Each is made of a scenario with one backward, which is continued before that backward.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal, TypeAlias

import numpy as np

from refgrad.generation.draft.admission import distance_to_kink, on_limit
from refgrad.generation.draft.application import apply_afresh, apply_on_edge
from refgrad.generation.draft.backward_calls import completed, random_seed
from refgrad.generation.draft.draft import Draft, Memory, Operand
from refgrad.generation.graphs import random_scenario
from refgrad.generation.profile import STANDARD, Choices, GenerationError, Profile, SeededChoices
from refgrad.interpreter import Float64, evaluate, keywords
from refgrad.operators import Operator, operator_table
from refgrad.operators.differentiation import bending
from refgrad.operators.operator import Shape
from refgrad.scenario import Apply, AttributeValue, Backward, Constant, Grad, Jvp, Leaf, Read, Scenario, Step

ATTEMPTS: Final = 200
"""Largest number of attempts to draw a scenario."""

NOT_EMPTY: Final = 20
"""Largest number of scenarios that are drawn to find one without empty arrays."""

ANOTHER: Final = 2**70
"""Offset added to a seed to draw other scenarios, or to make choices that are independent of those of the scenario."""

CONSTANTS: Final = 0.2
"""Probability that an operand does not require grad. At least one operand does."""

SPECIAL: Final = 0.3
"""Probability that an operand holds zeros, repetitions, the ends of its range or tiny numbers."""

SHAPES: Final[tuple[Shape, ...]] = (
    (2, 3), (), (3,), (3, 3), (1,), (2, 3, 2), (1, 3), (3, 1), (2, 2), (2,), (1, 1), (2, 1, 3), (0,), (2, 0), (2, 2, 2),
    (4,),
)  # fmt: skip
"""Shapes that distinguish faults: square ones, ones with different lengths, length 1, 0-d, without entries."""


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
    for attempt in range(NOT_EMPTY):
        scenario = operator_scenario(seed + attempt * ANOTHER, operator, profile)
        if all(array.size for array in evaluate(scenario, Float64()).values()):
            return scenario
    raise GenerationError(f"the profile admits only empty arrays for operator {operator!r}")


def _first_success(
    seed: int, operator: Operator, profile: Profile, apply: Callable[[Draft, Operator], bool]
) -> Scenario:
    choices = SeededChoices(seed)
    single = replace(profile, max_backwards=1, unused_leaves=0.0, constants=CONSTANTS, special=SPECIAL)
    with np.errstate(all="ignore"):
        for _ in range(ATTEMPTS):
            draft = Draft(single, choices.choice([shape for shape in SHAPES if len(shape) <= single.rank]), choices)
            applied = apply(draft, operator) and draft.results[0].requires_grad
            scenario = completed(draft) if applied else None
            if scenario is not None:
                return scenario
    raise GenerationError(f"the profile admits no scenario for operator {operator.name!r}")


def _apply_on_edge(draft: Draft, operator: Operator) -> bool:
    """Apply the operator near its edges, and return True if an entry is on one: equal numbers need not be a tie."""
    if not apply_on_edge(draft, operator):
        return False
    result = draft.results[0]
    assert isinstance(result.step, Apply)
    arrays = [argument.array for argument in result.arguments]
    attributes = operator.bind(keywords(result.step))
    return on_limit(operator, arrays, attributes) or distance_to_kink(operator, arrays, attributes, result.array) == 0


Nonlinearity: TypeAlias = Literal["none", "weights", "square"]
"""How an output is changed before it is differentiated: not at all, multiplied by a leaf, or squared."""

WEIGHTED: Final = 0.5
"""Probability that the output is multiplied by a leaf before it is differentiated, so that its cotangent is recorded.

At third order: probability that it is multiplied by a leaf rather than by itself.
"""

PENALTY: Final = 0.3
"""Probability that the second backward starts from the square of the gradient instead of the gradient."""

ONE_READ: Final = 0.3
"""Probability that the gradient of only one leaf is read."""

PLAIN: Final = 0.4
"""Probability that an output whose derivative depends on its operands is differentiated three times as it is."""

WEIGHTED_GRADIENT: Final = 0.3
"""Probability that the first of three gradients is multiplied by a leaf before it is differentiated."""

MOVING: Final = 0.7
"""Probability that a leaf has a tangent. At least one leaf has one."""

THIRD_ORDER: Final = 2**71
FORWARD: Final = 2**72
"""Offsets added to seeds, so that these choices are independent of those of the scenario of first order."""


class Continuation:
    """Builder of a scenario that begins with the steps before the only backward of another scenario.

    ``output`` is the output of that backward, and ``leaves`` are those that require grad and that it depends on.
    """

    def __init__(self, first: Scenario, choices: Choices, profile: Profile) -> None:
        """Take over all steps before the backward."""
        ((at, self.backward),) = first.backwards
        self.choices, self.profile, self.draft = choices, profile, Draft(profile, (), choices)
        self.named, arrays = dict[str, Operand](), evaluate(first, Float64())
        for step in first.steps[:at]:
            assert isinstance(step, Leaf | Apply)
            arguments = tuple(self.named[name] for name in step.uses)
            recorded = step.requires_grad if isinstance(step, Leaf) else any(x.requires_grad for x in arguments)
            self._define(Operand.of(arrays[step.name], requires_grad=recorded, arguments=arguments), step)
        self.output = self.named[self.backward.output]
        self.leaves = [leaf for place, leaf in enumerate(self.draft.leaves) if self.output.leaves >> place & 1]

    def _define(self, value: Operand, step: Leaf | Apply | Grad) -> Operand:
        self.draft.define(value, step)
        self.named[step.name] = value
        return value

    @property
    def applications(self) -> list[Apply]:
        """Recorded applications that the output depends on, its own first."""
        reached = [value.step for place, value in enumerate(self.draft.results) if self.output.graph >> place & 1]
        return [step for step in reversed(reached) if isinstance(step, Apply)]

    def random_seed(self, shape: Shape) -> Constant:
        """Return random numbers of either sign."""
        return random_seed(self.choices, shape, self.profile)

    def add_leaf(self, name: str, numbers: Constant, *, requires_grad: bool) -> Operand:
        """Add a leaf."""
        value = Operand.of(numbers.to_numpy(), requires_grad=requires_grad)
        return self._define(value, Leaf(name, numbers, requires_grad))

    def add_product(self, name: str, x: Operand, y: Operand) -> Operand:
        """Multiply two values of one shape."""
        return self._add_result(Apply(name, "multiply", (x.name, y.name)), (x, y), x.shape)

    def add_weighted(self, name: str, value: Operand, weights: str) -> Operand:
        """Multiply a value by a new leaf of random numbers."""
        return self.add_product(name, value, self.add_leaf(weights, self.random_seed(value.shape), requires_grad=True))

    def add_sum(self, name: str, x: Operand) -> Operand:
        """Sum a value over its first axis."""
        axis: tuple[tuple[str, AttributeValue], ...] = (("axis", 0),)
        return self._add_result(Apply(name, "sum", (x.name,), axis), (x,), x.shape[1:])

    def _add_result(self, step: Apply, arguments: tuple[Operand, ...], shape: Shape) -> Operand:
        recorded = any(argument.requires_grad for argument in arguments)
        return self._define(Operand(shape, recorded, Memory.up_to(math.inf), arguments=arguments), step)

    def add_gradient(self, name: str, output: Operand, leaf: Operand, seed: Constant | None) -> Operand:
        """Record the gradient of an output with respect to a leaf."""
        gradient = Operand(leaf.shape, requires_grad=True, memory=Memory.up_to(math.inf), arguments=(output, leaf))
        return self._define(gradient, Grad(name, output.name, leaf.name, seed))

    def ended(self, *steps: Step) -> Scenario:
        """Return the scenario that ends with these steps."""
        return Scenario((*self.draft.steps, *steps))


def second_order_scenario(
    seed: int, operator: str, profile: Profile = STANDARD, *, weighted: bool | None = None
) -> Scenario:
    """Return the scenario of a seed that applies one operator to fresh leaves and differentiates twice.

    The seeded gradient with respect to one leaf is recorded. A backward starts from it, and the gradients of the leaves
    are read. If ``weighted``, the output of the operator is first multiplied by a leaf of its shape. If that is None,
    it is multiplied half of the time, and always if the derivative of the operator does not depend on its operands.

    Raises :class:`GenerationError` if the profile admits none.
    """
    choices = SeededChoices(seed + ANOTHER)
    if weighted is None:
        weighted = not saves_operands(operator) or choices.boolean(WEIGHTED)
    first = scenario_with_entries(seed, operator, replace(profile, empty=0.0))
    return differentiated_twice(first, choices, profile, weighted=weighted)


def saves_operands(operator: str) -> bool:
    """Return True if the derivative of an operator depends on its operands."""
    row = operator_table()[operator]
    return any(row.saves(argument.name) for argument in row.arguments)


def double_backward_scenario(seed: int, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that differentiates a gradient of a random graph.

    Raises :class:`GenerationError` if the profile admits none.
    """
    choices = SeededChoices(seed + ANOTHER)
    first = random_scenario(seed, replace(profile, max_backwards=1, empty=0.0))
    multiplies = profile.allows("multiply")
    weighted = multiplies and choices.boolean(WEIGHTED)
    return differentiated_twice(first, choices, profile, weighted=weighted, penalty=PENALTY if multiplies else 0.0)


def differentiated_twice(  # noqa: PLR0913 (each of them is the caller's to say, by name)
    first: Scenario, choices: Choices, profile: Profile, *, weighted: bool, penalty: float = 0.0, by: str = ""
) -> Scenario:
    """Return the scenario with its backward replaced by two, as in :func:`second_order_scenario`.

    ``penalty`` is the probability that the second backward starts from the square of the gradient. If ``by`` names a
    leaf, the first gradient is with respect to that leaf, and every gradient is read.
    """
    made = Continuation(first, choices, profile)
    output, leaves = made.output, made.leaves
    leaf = made.named[by] if by else choices.choice(leaves)
    if weighted:
        output = made.add_weighted("weighted", output, "w")
        leaves = [*leaves, made.named["w"]]
    start = gradient = made.add_gradient("h", output, leaf, made.backward.seed)
    if choices.boolean(penalty):
        start = made.add_product("penalty", gradient, gradient)
    backward = Backward(start.name, made.random_seed(leaf.shape))
    read = [choices.choice(leaves)] if not by and choices.boolean(ONE_READ) else leaves
    return made.ended(backward, *_gradients(read), Read("value", "h"))


def _gradients(leaves: list[Operand]) -> list[Read]:
    return [Read("grad", leaf.name) for leaf in leaves]


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
    choices = SeededChoices(seed + THIRD_ORDER)
    first = scenario_with_entries(seed, operator, replace(profile, empty=0.0))
    made = Continuation(first, choices, profile)
    plain = bool(_pairs(made, "none", made.leaves)) and choices.boolean(PLAIN)
    return _thrice(made, "none" if plain else _nonlinearity(choices), weighted_gradient)


def triple_backward_scenario(seed: int, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that differentiates a gradient of a gradient of a random graph.

    Raises :class:`GenerationError` if the profile admits none.
    """
    if not profile.allows("multiply"):
        raise GenerationError("a graph is sure to have a gradient of a gradient only if the profile allows 'multiply'")
    choices = SeededChoices(seed + THIRD_ORDER)
    first = random_scenario(seed, replace(profile, max_backwards=1, empty=0.0))
    return _thrice(Continuation(first, choices, profile), _nonlinearity(choices), WEIGHTED_GRADIENT)


def differentiated_thrice(first: Scenario, choices: Choices, profile: Profile, by: str) -> Scenario:
    """Return the scenario with its backward replaced by three; output and first gradient are multiplied by leaves.

    The first gradient is with respect to the leaf ``by``, unless nothing depends on that leaf.
    """
    return _thrice(Continuation(first, choices, profile), "weights", 1.0, by)


def _nonlinearity(choices: Choices) -> Nonlinearity:
    return "weights" if choices.boolean(WEIGHTED) else "square"


def _thrice(made: Continuation, nonlinearity: Nonlinearity, weighted_gradient: float, by: str = "") -> Scenario:
    output, leaves = made.output, made.leaves
    if nonlinearity == "weights":
        output = made.add_weighted("w_output", output, "w")
        leaves = [*leaves, made.named["w"]]
    elif nonlinearity == "square":
        output = made.add_product("squared", output, output)
    pairs = _pairs(made, nonlinearity, _with_nonzero_derivative(made, leaves))
    leaf, other = made.choices.choice([pair for pair in pairs if pair[0].name == by] or pairs)
    gradient = made.add_gradient("h", output, leaf, made.backward.seed)
    if made.choices.boolean(weighted_gradient):
        gradient = made.add_weighted("v_h", gradient, "v")
        leaves = [*leaves, made.named["v"]]
    made.add_gradient("g", gradient, other, made.random_seed(leaf.shape))
    backward = Backward("g", made.random_seed(other.shape))
    return made.ended(backward, *_gradients(leaves), Read("value", "h"), Read("value", "g"))


def _with_nonzero_derivative(made: Continuation, leaves: list[Operand]) -> list[Operand]:
    """Return the leaves with a derivative that is not identically zero, or all leaves if only the weights have one."""
    needed = {made.output.name}
    for step in made.applications:
        if step.name in needed:
            row = operator_table()[step.operator]
            arguments = [a.name for a in row.arguments for _ in (step.arguments if a.variadic else "1")]
            needed.update(x for name, x in zip(arguments, step.arguments, strict=True) if not row.vanishes(name))
    kept = [leaf for leaf in leaves if leaf.name in needed]
    return [*kept, *(leaf for leaf in leaves if leaf.name == "w")] if kept else leaves


def _pairs(made: Continuation, nonlinearity: Nonlinearity, leaves: list[Operand]) -> list[tuple[Operand, Operand]]:
    """Return the leaves whose gradient may be recorded, each with one that the gradient is certain to depend on."""
    steps = made.applications

    def depends(leaf: str, other: str) -> bool:
        if nonlinearity == "square":
            return True
        if nonlinearity == "weights" and "w" in (leaf, other):
            return leaf != other
        return any(_gradient_depends_on(step, leaf, other) for step in steps)

    return [(leaf, other) for leaf in leaves for other in leaves if depends(leaf.name, other.name)]


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
    first = scenario_with_entries(seed, operator, replace(profile, empty=0.0))
    return with_tangents(first, SeededChoices(seed + FORWARD), profile, MOVING)


def with_tangents(first: Scenario, choices: Choices, profile: Profile, moving: float = 1.0) -> Scenario:
    """Return the scenario with a directional derivative before its backward.

    ``moving`` is the probability that a leaf has a tangent.
    """
    made = Continuation(first, choices, profile)
    moved = [leaf for leaf in made.leaves if choices.boolean(moving)] or [choices.choice(made.leaves)]
    tangents = tuple((leaf.name, made.random_seed(leaf.shape)) for leaf in moved)
    pushed = Jvp("t", made.output.name, tangents)
    return made.ended(pushed, made.backward, Read("value", "t"), *_gradients(made.leaves))
