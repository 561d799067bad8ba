"""Commands that are started with chosen signals ignored."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

CODE = """
import os, signal, sys
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN if number in {ignored} else signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def ignoring(signals: Collection[int], command: Sequence[str]) -> list[str]:
    """Return a command that ignores these signals and no others, whatever the shell that runs the tests has ignored."""
    return [sys.executable, "-c", CODE.format(ignored=list(map(int, signals))), *command]
