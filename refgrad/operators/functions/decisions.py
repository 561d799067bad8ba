"""Truth values that may be open: Kleene's logic of True, False and None."""

from __future__ import annotations

Decision = bool | None


def logical_not(a: Decision) -> Decision:
    """Kleene's negation."""
    return None if a is None else not a


def logical_and(a: Decision, b: Decision) -> Decision:
    """Kleene's conjunction."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def logical_or(a: Decision, b: Decision) -> Decision:
    """Kleene's disjunction."""
    return logical_not(logical_and(logical_not(a), logical_not(b)))
