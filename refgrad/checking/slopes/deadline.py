"""How long a check may still take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf


class Deadline:
    """A moment after which nothing more is begun."""

    def __init__(self, seconds: float = inf) -> None:
        """Start now."""
        self.end = time.monotonic() + seconds
        self.left = seconds

    @property
    def over(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() > self.end

    @property
    def remaining(self) -> float:
        """The seconds that are left."""
        return self.end - time.monotonic()

    def stop(self) -> None:
        """Let no more time pass until it is taken up again."""
        self.left = self.remaining

    @contextmanager
    def taken_up(self) -> Iterator[None]:
        """Go on with the time that was left."""
        self.end = time.monotonic() + self.left
        try:
            yield
        finally:
            self.stop()
