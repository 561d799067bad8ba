"""How much of what is generated a test goes through: a part in the loop, all of it with the profile `thorough`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

USUAL = 100
"""The examples that hypothesis draws by default; a test names as many seeds as would go with them."""

LEAST = 5


def seeds(count: int) -> range:
    """Return the first so many seeds, or of the profile in force their share."""
    share = count * settings().max_examples // USUAL
    return range(min(count, max(LEAST, share)))


def sampled(cases: Iterable[Any], step: int) -> list[Any]:
    """Return all cases as parameters, of which the loop runs every so many-th, and CI the others by ``-m whole``."""
    return [case if n % step == 0 else pytest.param(case, marks=pytest.mark.whole) for n, case in enumerate(cases)]
