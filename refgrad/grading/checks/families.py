"""All checks that an engine is graded by, in the order of a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from refgrad.errors import UserError, suggestion
from refgrad.grading.checks.behaviour_checks import BehaviourCheck
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.claims import ClaimCheck, all_claims
from refgrad.grading.checks.graphs import GRAPH_CHECKS, LifecycleCheck
from refgrad.grading.checks.operators.derivatives import (
    ContractCheck,
    EdgeCheck,
    ForwardModeCheck,
    OperatorCheck,
    SecondOrderCheck,
    ThirdOrderCheck,
)
from refgrad.grading.checks.operators.exceptional import ExceptionalCheck, InfinityCheck
from refgrad.grading.checks.operators.half_precision import HalfPrecisionCheck
from refgrad.grading.checks.operators.operator_check import CheckOfOperator
from refgrad.operators import Operator, operator_table


def _is_differentiable(operator: Operator) -> bool:
    return bool(operator.differentiable_arguments)


def _has_derivatives(operator: Operator) -> bool:
    """Return True if a derivative of the operator is not identically zero."""
    return not all(map(operator.vanishes, operator.differentiable_arguments))


OPERATOR_CHECKS: Final[tuple[tuple[type[CheckOfOperator], Callable[[Operator], bool]], ...]] = (
    (OperatorCheck, lambda _: True),
    (EdgeCheck, lambda operator: bool(operator.edges)),
    (SecondOrderCheck, _has_derivatives),
    (ThirdOrderCheck, _has_derivatives),
    (ContractCheck, _is_differentiable),
    (ForwardModeCheck, _is_differentiable),
    (HalfPrecisionCheck, _is_differentiable),
    (ExceptionalCheck, _is_differentiable),
    (InfinityCheck, lambda operator: operator.composite is None),
)
"""Checks of one operator each, with the operators that they are about."""


def all_checks() -> tuple[Check, ...]:
    """Return all checks."""
    operators = operator_table().values()
    return (
        *map(BehaviourCheck, all_behaviours()),
        *(check(operator) for check, is_about in OPERATOR_CHECKS for operator in operators if is_about(operator)),
        *GRAPH_CHECKS,
        LifecycleCheck(),
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
