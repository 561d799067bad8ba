"""The deadline of a check, after which the function under test is not called again."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic

from refgrad.native.process import processor_time
from refgrad.oracles.slopes.directions import OutOfTime


class Deadline:
    """A point in time after which no further work is begun.

    Time that the machine spends on other processes or on compilation does not count. ``compiled`` returns the seconds
    of compilation.
    """

    def __init__(self, seconds: float = inf, compiled: Callable[[], float] = lambda: 0.0) -> None:
        """Start now."""
        self.compiled = compiled
        self.start(seconds)

    def start(self, seconds: float) -> None:
        """Start again."""
        self.seconds, self.began, self.paused = seconds, self.read(), False

    def pause(self) -> None:
        """Stop until :meth:`resume` is called."""
        self.seconds, self.paused = self.seconds - self.used(), True

    def resume(self) -> None:
        """Go on with the time that was left."""
        if self.paused:
            self.start(self.seconds)

    def read(self) -> tuple[float, float, float]:
        """Return three times in seconds: wall clock, waiting of this thread for a processor, and compilation."""
        return monotonic(), processor_time("thread-self")[1], self.compiled()

    def is_over(self) -> bool:
        """Return True if the time is used up."""
        if monotonic() - self.began[0] <= max(self.seconds, 0.0):
            return self.seconds < 0
        return self.used() > self.seconds

    def used(self) -> float:
        """Return the seconds since the start.

        Compilation is assumed to wait for a processor as much as the other work.
        """
        wall, waited, compiled = (now - then for now, then in zip(self.read(), self.began, strict=True))
        return (wall - waited) * (1 - compiled / wall) if wall else 0.0

    def refuse(self) -> None:
        """Raise OutOfTime if the time is used up."""
        if self.is_over():
            raise OutOfTime
