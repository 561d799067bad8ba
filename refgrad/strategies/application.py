"""How is one more operator applied to a scenario under construction?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from refgrad.operators import Argument, Operator
from refgrad.operators.structure import Shape
from refgrad.strategies.admission import MARGIN, has_ties
from refgrad.strategies.attributes import adapted, admits, choose_attributes
from refgrad.strategies.choices import Choices
from refgrad.strategies.draft import Draft, Value
from refgrad.strategies.leaves import accepted_range, fresh_leaf, put_on_edge, with_ties
from refgrad.strategies.operands import OPERAND_RULES, narrowed

FRESH: Final = 0.12
"""How often an operand is a new leaf although an existing value would do."""

TWICE: Final = 0.1
"""How often an operator takes its first operand once more, where it can."""

UNUSED: Final = 0.7
"""How often only values that nothing uses yet are considered: chains get longer, and sinks fewer."""

VARIADIC: Final = (2, 3, 2, 1)
"""How many operands a variadic argument stands for."""

ON_EDGE: Final = -1.0
"""The margin of values that may lie on a kink."""


def apply_operator(choices: Choices, draft: Draft, operator: Operator) -> bool:
    """Apply the operator to values of the draft, or to fresh leaves; return False where neither was admitted."""
    edge = bool(operator.edges) and choices.boolean(draft.profile.edges)
    if edge and choices.boolean(0.5):
        return apply_on_edge(choices, draft, operator)
    margin = ON_EDGE if edge else MARGIN
    existing = choose_operands(choices, draft, operator, FRESH)
    return commit(choices, draft, operator, existing, margin=margin) or commit(
        choices, draft, operator, choose_operands(choices, draft, operator, 1.0), margin=MARGIN
    )


def apply_on_edge(choices: Choices, draft: Draft, operator: Operator, constants: float | None = None) -> bool:
    """Apply the operator to fresh leaves of which at least one entry is meant to lie on an edge of the operator."""
    operands = choose_operands(choices, draft, operator, 1.0, constants)
    if any(operand.array.size == 0 for operand in operands):
        return False
    if has_ties(operator):
        return commit(choices, draft, operator, [with_ties(choices, operands[0])], margin=ON_EDGE)
    example = choices.choice([example for edge in operator.edges for example in edge.examples])
    given = {name: value for name, value in example.items() if name in operator.attribute_names}
    moved = put_on_edge(choices, operator, operands, example)
    return commit(choices, draft, operator, moved, margin=ON_EDGE, given=given)


def commit(
    choices: Choices,
    draft: Draft,
    operator: Operator,
    operands: list[Value],
    *,
    margin: float,
    given: dict[str, float] | None = None,
) -> bool:
    """Add the operator's application to these operands, if it is admitted, with attributes of its choosing."""
    shapes = tuple(operand.shape for operand in operands)
    attributes: dict[str, Any] = choose_attributes(choices, operator, shapes, draft.profile) | (given or {})
    value = draft.compute(operator, operands, attributes, margin=margin)
    if value is None:
        return False
    draft.add_result(value, operator.name, attributes)
    return True


def choose_operands(
    choices: Choices, draft: Draft, operator: Operator, fresh: float, constants: float | None = None
) -> list[Value]:
    """Return operands whose shapes fit, each with probability ``fresh`` a new leaf even where an existing value would do."""
    rule = OPERAND_RULES[operator.operands]
    operands: list[Value] = []
    for argument in _slots(choices, operator):
        shapes = tuple(operand.shape for operand in operands)
        if operands and _again(operator, argument, operands[0], shapes) and choices.boolean(TWICE):
            operands.append(operands[0])
            continue
        fitting = [] if fresh >= 1 else _fitting(draft, operator, argument, shapes)
        if fitting and not choices.boolean(fresh):
            operands.append(_pick(choices, fitting))
            continue
        shape = _fresh_shape(choices, draft, operator) if not shapes else rule.choose(choices, shapes, draft.profile)
        chance = draft.profile.constants if constants is None else constants
        needed = constants is None and not any(leaf.requires_grad for leaf in (*draft.leaves, *operands))
        constant = not needed and choices.boolean(chance)
        operands.append(fresh_leaf(choices, operator, argument, shape, draft.profile.dtype, constant=constant))
    return operands


def _slots(choices: Choices, operator: Operator) -> Iterator[Argument]:
    for argument in operator.arguments:
        yield from (argument for _ in range(choices.choice(VARIADIC) if argument.variadic else 1))


def _fitting(draft: Draft, operator: Operator, argument: Argument, shapes: tuple[Shape, ...]) -> list[Value]:
    """Return the draft's values that may stand for this argument, behind operands of these shapes."""
    low, high = accepted_range(operator, argument)
    condition = argument.dtype == "bool"
    return [
        value
        for value in draft.values
        if low <= value.low
        and value.high <= high
        and value.condition is condition
        and _fits(operator, shapes, value.shape)
    ]


@lru_cache(maxsize=2**16)
def _fits(operator: Operator, shapes: tuple[Shape, ...], shape: Shape) -> bool:
    if not shapes and not admits(operator, shape):
        return False
    return OPERAND_RULES[operator.operands].fits(shapes, shape)


def _again(operator: Operator, argument: Argument, first: Value, shapes: tuple[Shape, ...]) -> bool:
    """Whether the first operand may stand for this argument too."""
    in_range = first.within(*accepted_range(operator, argument)) and first.condition == (argument.dtype == "bool")
    return in_range and _fits(operator, shapes, first.shape)


def _pick(choices: Choices, values: list[Value]) -> Value:
    if choices.boolean(UNUSED):
        values = [value for value in values if not value.uses] or values
    return choices.choice(values)


def _fresh_shape(choices: Choices, draft: Draft, operator: Operator) -> Shape:
    shape = narrowed(choices, draft.base)
    return adapted(operator, OPERAND_RULES[operator.operands].first(shape))
