"""The profile of lifecycles."""

from __future__ import annotations

from typing import Final

from refgrad.generation.profile import Profile

LARGEST: Final = 20.0
"""Largest magnitude of a number in a lifecycle, except for intermediate results of writes."""

ALL_FEATURES: Final = frozenset({
    "arrays", "seed", "retain_graph", "zero_grad", "zero_grad_to_zeros", "double_backward", "detach", "no_grad",
    "enable_grad", "set_requires_grad", "in_place", "in_place_at_index", "hooks", "unhook", "retain_grad",
    "read_requires_grad", "read_is_leaf", "read_recorded",
})  # fmt: skip
"""Features that steps of a lifecycle may need."""

LIFECYCLE_OPERATORS: Final = frozenset({
    "add", "exp", "matmul", "mean", "multiply", "negative", "reshape", "sin", "subtract", "sum", "tanh",
})  # fmt: skip
"""Operators that lifecycles apply, for which it is known what they save."""


def lifecycle_profile(
    *,
    features: frozenset[str] = ALL_FEATURES,
    operators: frozenset[str] = LIFECYCLE_OPERATORS,
    length: tuple[int, int] = (6, 36),
    misuse: float = 0.15,
) -> Profile:
    """Return a profile of lifecycles for an engine that has these features."""
    return Profile(
        features=features - {"arrays", "seed"},
        scalars_only="arrays" not in features,
        seeds="seed" in features,
        operators=operators,
        length=length,
        misuse=misuse,
    )


LIFECYCLE: Final = lifecycle_profile()
