"""Random numbers that come again in each call of a function, and that go on afterwards as if none had been drawn."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from refgrad.checking.libraries.library import Library


class Chance:
    """The random numbers of a function of some library."""

    def __init__(self, library: Library) -> None:
        """Let numbers come as they like."""
        self.library = library
        self.states: Any = None
        self.repeats = False

    @property
    def drawn(self) -> bool:
        """Whether numbers have been drawn since."""
        return pickle.dumps(self.library.chance()) != pickle.dumps(self.states)

    def again(self) -> None:
        """Let the same numbers come as in the first call, if the function is known to draw any."""
        if self.repeats:
            self.library.set_chance(self.states)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Let numbers go on afterwards as they would have before, and come as they did here the first time."""
        states = self.library.chance()
        self.states = self.states or states
        try:
            yield
        finally:
            self.library.set_chance(states)
