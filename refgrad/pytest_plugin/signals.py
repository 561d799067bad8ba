"""The orderly end of a session on a signal, so that the report is still written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final

import pytest

HANDLED: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""Signals that end a session. SIGHUP stays ignored if it is ignored when the session starts, as under nohup."""


class Signals:
    """Raises KeyboardInterrupt for the first signal. Ignores later ones, and all signals while the session finishes."""

    def __init__(self) -> None:
        """Start without a received signal."""
        self.received: int = 0
        self._finishing = False
        self._before: dict[int, Any] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Install the signal handlers, which is possible in the main thread only."""
        if threading.current_thread() is threading.main_thread():
            ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            handled = [number for number in HANDLED if number != signal.SIGHUP or not ignored]
            self._before = {number: signal.signal(number, self._handle) for number in handled}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Iterator[None]:
        """Ignore signals while the report is written."""
        self._finishing = True
        yield

    def pytest_unconfigure(self) -> None:
        """Restore the previous signal handlers."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def status(self) -> int:
        """Exit status of a process ended by the signal, as shells report it, or 0 if none was received."""
        return 128 + self.received if self.received else 0

    @property
    def terminated(self) -> bool:
        """Return True if a signal other than SIGINT was received. pytest has an exit status of its own for SIGINT."""
        return self.received not in {0, signal.SIGINT}

    def _handle(self, number: int, _: FrameType | None) -> None:
        first = not self.received
        self.received = self.received or number
        if first and not self._finishing:
            raise KeyboardInterrupt
