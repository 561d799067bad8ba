"""All checks that an engine is graded by, in the order of a report."""

from __future__ import annotations

from functools import cache
from typing import Final

from refgrad.errors import UserError, suggestion
from refgrad.grading.checks.behaviour_checks import BehaviourCheck
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.claims import all_claims
from refgrad.grading.checks.graphs import GRAPHS
from refgrad.grading.checks.operators import derivatives, exceptional, values
from refgrad.operators import operator_table

OF_OPERATORS: Final = (
    values.OPERATORS, derivatives.EDGES, derivatives.SECOND_ORDER, derivatives.THIRD_ORDER, derivatives.CONTRACTS,
    derivatives.FORWARD_MODE, derivatives.MIXED_MODES, derivatives.HALF_PRECISION, exceptional.EXCEPTIONAL,
    exceptional.INFINITIES, exceptional.TAILS,
)  # fmt: skip
"""Families of checks of one operator each."""


@cache
def all_checks() -> tuple[Check, ...]:
    """Return all checks."""
    table = operator_table()
    return (
        *(BehaviourCheck(b, id=b.id, level=b.level, statement=b.statement) for b in all_behaviours()),
        *(family.check(name) for family in OF_OPERATORS for name, row in table.items() if family.is_about(row)),
        *(family.check() for family in GRAPHS),
        *all_claims(),
    )


def check_named(name: str) -> Check:
    """Return the check with an id. Raises UserError with suggestions if there is none."""
    checks = {check.id: check for check in all_checks()}
    if name in checks:
        return checks[name]
    about = [check.id for check in checks.values() if check.operator_name == name]
    meant = f"; about the operator there are: {', '.join(about)}" if about else suggestion(name, checks)
    raise UserError(f"there is no check {name!r}{meant or '; see `refgrad list checks`'}")
