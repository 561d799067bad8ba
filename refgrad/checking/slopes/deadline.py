"""How long a check may still take."""

from __future__ import annotations

import time
from math import inf


class Deadline:
    """A moment after which nothing more is begun."""

    def __init__(self, seconds: float = inf) -> None:
        """Start now."""
        self.end = time.monotonic() + seconds

    @property
    def over(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() > self.end
