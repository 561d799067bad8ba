"""Ends a session in order when its process is told to end, so that what is known by then is written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final

import pytest

HANDLED: Final = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """Turns SIGTERM into what SIGINT is, and remembers the first of them; while the session finishes, both wait."""

    def __init__(self) -> None:
        """No signal has come."""
        self.received: int = 0
        self._finishing = False
        self._before: dict[int, Any] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Handle signals, where that can be done: in the main thread."""
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in HANDLED}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Iterator[None]:
        """Let nothing keep the report from being written."""
        self._finishing = True
        yield

    def pytest_unconfigure(self) -> None:
        """Handle signals as before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def status(self) -> int:
        """The exit status of a process that ended for the signal, as shells give it; 0 if none has come."""
        return 128 + self.received if self.received else 0

    @property
    def terminated(self) -> bool:
        """Whether it is SIGTERM: pytest has an exit status of its own for SIGINT."""
        return self.received == signal.SIGTERM

    def _handle(self, number: int, _: FrameType | None) -> None:
        first = not self.received
        self.received = self.received or number
        if first and not self._finishing:
            raise KeyboardInterrupt
