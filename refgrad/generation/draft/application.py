"""The application of one more operator to a scenario under construction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from refgrad.generation.attributes.rules import adapted, admits, choose_attributes
from refgrad.generation.choices import Choices
from refgrad.generation.draft.admission import MARGIN, has_ties
from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.leaves import accepted_range, fresh_leaf, put_on_edge, with_ties
from refgrad.generation.draft.operands import narrowed, operand_rule
from refgrad.generation.draft.value import Value
from refgrad.operators import Argument, Operator
from refgrad.operators.structure import Shape

FRESH: Final = 0.12
"""Probability that an operand is a new leaf although an existing value would fit."""

TWICE: Final = 0.1
"""Probability that an operator takes the previous operand once more, if it can."""

UNUSED: Final = 0.7
"""Probability that only values that nothing uses yet are considered. It makes chains longer and sinks fewer."""

VARIADIC: Final = (2, 3, 2, 1)
"""Numbers of operands that a variadic argument stands for. A repeated number is more likely."""

ON_EDGE: Final = -1.0
"""Margin for values that may lie on a kink."""


def apply_operator(draft: Draft, operator: Operator) -> bool:
    """Apply the operator to existing values or to fresh leaves; return False if neither was admitted."""
    edge = bool(operator.edges) and draft.choices.boolean(draft.profile.edges)
    if edge and draft.choices.boolean(0.5):
        return apply_on_edge(draft, operator)
    existing = choose_operands(draft, operator, FRESH)
    return commit(draft, operator, existing, margin=ON_EDGE if edge else MARGIN) or apply_afresh(draft, operator)


def apply_afresh(draft: Draft, operator: Operator) -> bool:
    """Apply the operator to fresh leaves, clear of its kinks; return False if they were not admitted."""
    return commit(draft, operator, choose_operands(draft, operator, 1.0), margin=MARGIN)


def apply_on_edge(draft: Draft, operator: Operator) -> bool:
    """Apply the operator to fresh leaves, with at least one entry intended to lie on an edge of the operator."""
    operands = choose_operands(draft, operator, 1.0)
    if any(operand.array.size == 0 for operand in operands):
        return False
    if has_ties(operator):
        return commit(draft, operator, [with_ties(draft.choices, operands[0])], margin=ON_EDGE)
    example = draft.choices.choice([example for edge in operator.edges for example in edge.examples])
    given = {name: value for name, value in example.items() if name in operator.attribute_names}
    moved = put_on_edge(draft.choices, operator, operands, example, draft.profile.dtype)
    return commit(draft, operator, moved, margin=ON_EDGE, given=given)


def commit(
    draft: Draft,
    operator: Operator,
    operands: list[Value],
    *,
    margin: float,
    given: Mapping[str, float] = MappingProxyType({}),
) -> bool:
    """Apply the operator to these operands with random attributes, overridden by ``given``, if that is admitted."""
    shapes = tuple(operand.shape for operand in operands)
    attributes = choose_attributes(draft.choices, operator, shapes, draft.profile) | dict(given)
    value = draft.compute(operator, operands, attributes, margin=margin)
    if value is None:
        return False
    draft.add_result(value, operator.name, attributes)
    return True


def choose_operands(draft: Draft, operator: Operator, fresh: float) -> list[Value]:
    """Return operands whose shapes fit; with probability ``fresh`` one is a new leaf even if an existing value fits.

    If no leaf requires grad so far, one of the operands does.
    """
    operands: list[Value] = []
    for argument in _slots(draft.choices, operator):
        operands.append(_choose_operand(draft, operator, argument, operands, fresh))
    if not (any(leaf.requires_grad for leaf in draft.leaves) or any(value.requires_grad for value in operands)):
        numbers = [operand for operand in operands if not operand.condition]
        draft.choices.choice(numbers).requires_grad = True
    return operands


def _choose_operand(draft: Draft, operator: Operator, argument: Argument, before: list[Value], fresh: float) -> Value:
    choices, shapes = draft.choices, tuple(operand.shape for operand in before)
    if before and choices.boolean(TWICE) and may_repeat(operator, argument, before[-1], shapes):
        return before[-1]
    if not choices.boolean(fresh) and (fitting := _fitting(draft, operator, argument, shapes)):
        return _pick(choices, fitting)
    shape = operand_rule(operator).choose(choices, shapes, draft.profile) if before else _first_shape(draft, operator)
    return fresh_leaf(choices, draft.profile, operator, argument, shape)


def _slots(choices: Choices, operator: Operator) -> tuple[Argument, ...]:
    """Return the argument of each operand. A variadic argument comes last and takes several operands."""
    if not operator.arguments[-1].variadic:
        return operator.arguments
    *first, last = operator.arguments
    return (*first, *[last] * choices.choice(VARIADIC))


def _fitting(draft: Draft, operator: Operator, argument: Argument, shapes: tuple[Shape, ...]) -> list[Value]:
    """Return the existing values that fit this argument after operands of these shapes."""
    low, high = accepted_range(operator, argument)
    condition = argument.dtype == "bool"
    margin = max(MARGIN, draft.margin)
    return [
        value
        for value in draft.values
        if value.within(low, high, margin) and value.condition is condition and _fits(operator, shapes, value.shape)
    ]


@lru_cache(maxsize=2**16)
def _fits(operator: Operator, shapes: tuple[Shape, ...], shape: Shape) -> bool:
    if not shapes and not admits(operator, shape):
        return False
    return operand_rule(operator).fits(shapes, shape)


def may_repeat(operator: Operator, argument: Argument, value: Value, shapes: tuple[Shape, ...]) -> bool:
    """Return True if the previous operand may be used for this argument too."""
    alike = value.condition == (argument.dtype == "bool")
    return alike and value.within(*accepted_range(operator, argument), MARGIN) and _fits(operator, shapes, value.shape)


def _pick(choices: Choices, values: list[Value]) -> Value:
    if choices.boolean(UNUSED):
        values = [value for value in values if not value.uses] or values
    return choices.choice(values)


def _first_shape(draft: Draft, operator: Operator) -> Shape:
    shape = narrowed(draft.choices, draft.base)
    return adapted(operator, operand_rule(operator).first(shape))
