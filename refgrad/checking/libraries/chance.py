"""Random numbers that repeat in each call of a function, and whose state is restored afterwards."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from refgrad.checking.libraries.library import Library


class Chance:
    """The random numbers that a function of a library draws."""

    def __init__(self, library: Library) -> None:
        """Start without repeating any numbers."""
        self.own, *self.others = library.sources()
        self.states: list[Any] = []
        self.repeats = False

    def found(self, run: Callable[[], object], *, changed: bool) -> bool:
        """Return True if a function that was run twice draws numbers; if so, they repeat from now on.

        The library's own numbers repeat those of the first run; drawing them is detected even if both runs gave the
        same result. Numbers of other sources are looked for only if the second run gave another result (``changed``),
        and repeat those of ``run``.
        """
        if self.repeats:
            return False
        if not same(self.own.state(), self.states[0]):
            self.repeats = True
            return True
        if not changed:
            return False
        states = [source.state() for source in self.others]
        run()
        self.repeats = not all(same(source.state(), s) for source, s in zip(self.others, states, strict=True))
        self.states += states
        return self.repeats

    def again(self) -> None:
        """Restart the numbers for another call, if the function is known to draw any."""
        if self.repeats:
            self.set(self.states)

    def set(self, states: list[Any]) -> None:
        """Set the states of the first sources."""
        for source, state in zip((self.own, *self.others), states, strict=False):
            source.set_state(state)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Restore the states of the sources afterwards, and keep those of the first time."""
        states = [self.own.state()]
        known = bool(self.states)
        if known:
            states += [source.state() for source in self.others]
        else:
            self.states = states
        try:
            yield
        finally:
            self.set(states if known else self.states)


def same(a: Any, b: Any) -> bool:
    """Return True if two states are the same."""
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else pickle.dumps(a) == pickle.dumps(b)
