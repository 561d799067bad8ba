"""All checks that an engine is graded by, in the order of a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from refgrad.errors import UserError, suggestion
from refgrad.grading.checks.behaviour_checks import BehaviourCheck
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.check import Check, Family
from refgrad.grading.checks.claims import ClaimCheck, all_claims
from refgrad.grading.checks.graphs import GRAPHS
from refgrad.grading.checks.operators.derivatives import (
    CONTRACTS,
    EDGES,
    FORWARD_MODE,
    HALF_PRECISION,
    OPERATORS,
    SECOND_ORDER,
    THIRD_ORDER,
)
from refgrad.grading.checks.operators.exceptional import EXCEPTIONAL, INFINITIES
from refgrad.operators import Operator, operator_table


def _is_differentiable(operator: Operator) -> bool:
    return bool(operator.differentiable_arguments)


def _has_derivatives(operator: Operator) -> bool:
    """Return True if a derivative of the operator is not identically zero."""
    return not all(map(operator.vanishes, operator.differentiable_arguments))


OF_OPERATORS: Final[tuple[tuple[Family, Callable[[Operator], bool]], ...]] = (
    (OPERATORS, lambda _: True),
    (EDGES, lambda operator: bool(operator.edges)),
    (SECOND_ORDER, _has_derivatives),
    (THIRD_ORDER, _has_derivatives),
    (CONTRACTS, _is_differentiable),
    (FORWARD_MODE, _is_differentiable),
    (HALF_PRECISION, _is_differentiable),
    (EXCEPTIONAL, _is_differentiable),
    (INFINITIES, lambda operator: operator.composite is None),
)
"""Families of checks of one operator each, with the operators that they are about."""


def all_checks() -> tuple[Check, ...]:
    """Return all checks."""
    table = operator_table()
    return (
        *map(BehaviourCheck, all_behaviours()),
        *(family.check(name) for family, is_about in OF_OPERATORS for name, row in table.items() if is_about(row)),
        *(family.check() for family in GRAPHS),
        *map(ClaimCheck, all_claims()),
    )


def check_named(name: str) -> Check:
    """Return the check with an id. Raises UserError with suggestions if there is none."""
    checks = {check.id: check for check in all_checks()}
    if name in checks:
        return checks[name]
    about = [check.id for check in checks.values() if check.operator_name == name]
    meant = f"; about the operator there are: {', '.join(about)}" if about else suggestion(name, checks)
    raise UserError(f"there is no check {name!r}{meant or '; see `refgrad list checks`'}")
