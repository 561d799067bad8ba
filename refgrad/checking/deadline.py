"""The time that a check has: a moment after which the function under test is not called again."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic

from refgrad.native.process import processor_time
from refgrad.oracles.slopes.directions import OutOfTime


class Deadline:
    """A moment after which nothing more is begun.

    Neither other work of the machine nor compilation brings it nearer: ``compiled`` returns the seconds of the latter.
    """

    def __init__(self, seconds: float = inf, compiled: Callable[[], float] = lambda: 0.0) -> None:
        """Start now."""
        self.compiled = compiled
        self.start(seconds)

    def start(self, seconds: float) -> None:
        """Start again."""
        self.seconds = seconds
        self.soonest = monotonic() + seconds
        self.end = self.now() + seconds

    def now(self) -> float:
        """Return the seconds of a clock that stands still while this thread waits for a processor or compiles."""
        return monotonic() - processor_time("thread-self")[1] - self.compiled()

    def is_over(self) -> bool:
        """Return True if the time is used up. The clock, which is slow to read, is never ahead of the wall."""
        return monotonic() > self.soonest and self.now() > self.end

    def refuse(self) -> None:
        """Raise OutOfTime if the time is used up."""
        if self.is_over():
            raise OutOfTime
