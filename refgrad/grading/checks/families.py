"""All checks that an engine is graded by, in the order of a report."""

from __future__ import annotations

from refgrad.errors import UserError, suggestion
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.graphs import GRAPH_CHECKS
from refgrad.grading.checks.lifecycles import LifecycleCheck
from refgrad.grading.checks.operators.derivatives import EdgeCheck, OperatorCheck, SecondOrderCheck
from refgrad.grading.checks.operators.exceptional import ExceptionalCheck, InfinityCheck
from refgrad.grading.checks.operators.half_precision import HalfPrecisionCheck
from refgrad.grading.checks.operators.rules import ContractCheck, ForwardModeCheck, ThirdOrderCheck
from refgrad.grading.checks.statements.behaviour_checks import BehaviourCheck
from refgrad.grading.checks.statements.behaviours import all_behaviours
from refgrad.grading.checks.statements.claim_checks import ClaimCheck
from refgrad.grading.checks.statements.claims import all_claims
from refgrad.operators import operator_table


def all_checks() -> tuple[Check, ...]:
    """Return all checks."""
    operators = operator_table().values()
    sloping = [o for o in operators if not all(map(o.vanishes, o.differentiable_arguments))]
    return (
        *(BehaviourCheck(behaviour) for behaviour in all_behaviours()),
        *(OperatorCheck(operator) for operator in operators),
        *(EdgeCheck(operator) for operator in operators if operator.edges),
        *(SecondOrderCheck(operator) for operator in sloping),
        *(ThirdOrderCheck(operator) for operator in sloping),
        *(ContractCheck(operator) for operator in operators if operator.differentiable_arguments),
        *(ForwardModeCheck(operator) for operator in operators if operator.differentiable_arguments),
        *(HalfPrecisionCheck(operator) for operator in operators if operator.differentiable_arguments),
        *(ExceptionalCheck(operator) for operator in operators if operator.differentiable_arguments),
        *(InfinityCheck(operator) for operator in operators if operator.composite is None),
        *GRAPH_CHECKS,
        LifecycleCheck(),
        *(ClaimCheck(claim) for claim in all_claims()),
    )


def check_named(name: str) -> Check:
    """Return the check with an id. Raises UserError with suggestions if there is none."""
    checks = {check.id: check for check in all_checks()}
    if name in checks:
        return checks[name]
    about = [check.id for check in checks.values() if check.operator_name == name]
    meant = f"; about the operator there are: {', '.join(about)}" if about else suggestion(name, checks)
    raise UserError(f"there is no check {name!r}{meant or '; see `refgrad list checks`'}")
