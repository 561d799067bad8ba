"""Random numbers that come again in each call of a function, and that go on afterwards as if none had been drawn."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from refgrad.checking.libraries.library import Library


class Chance:
    """The random numbers of a function of some library."""

    def __init__(self, library: Library) -> None:
        """Let numbers come as they like."""
        self.own, *self.others = library.sources()
        self.states: list[Any] = []
        self.repeats = False

    def found(self, run: Callable[[], object], *, changed: bool) -> bool:
        """Whether a function that was run twice draws numbers, which repeat from now on.

        The library's own numbers will be as in its first run; that they were drawn is seen even if both runs gave the
        same by chance. Others are looked for only where the second run gave something else (``changed``), and will be
        as in ``run``.
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
        """Let the same numbers come in each call, if the function is known to draw any."""
        if self.repeats:
            self.set(self.states)

    def set(self, states: list[Any]) -> None:
        """Let numbers follow from states of the first sources."""
        for source, state in zip((self.own, *self.others), states, strict=False):
            source.set_state(state)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Let numbers go on afterwards as they would have before, and come as they did here the first time."""
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
    """Whether two states are the same."""
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else pickle.dumps(a) == pickle.dumps(b)
