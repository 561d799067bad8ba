"""Three-valued logic (Kleene): True, False, and None for undecided."""

from __future__ import annotations

Decision = bool | None


def logical_not(a: Decision) -> Decision:
    """Return Kleene's negation."""
    return None if a is None else not a


def logical_and(a: Decision, b: Decision) -> Decision:
    """Return Kleene's conjunction."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def logical_or(a: Decision, b: Decision) -> Decision:
    """Return Kleene's disjunction."""
    return logical_not(logical_and(logical_not(a), logical_not(b)))
