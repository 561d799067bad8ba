"""How much of what is generated a test goes through: a part in the loop, all of it with the profile `thorough`."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100
"""The examples that hypothesis draws by default; a test names as many seeds as would go with them."""

LEAST = 5


def seeds(count: int) -> range:
    """Return the first so many seeds, or of the profile in force their share."""
    share = count * settings().max_examples // USUAL
    return range(min(count, max(LEAST, share)))
