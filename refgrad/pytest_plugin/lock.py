"""A lock on a report, so that two runs never write it at once. It is released when the process that holds it ends."""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]


class LockedError(Exception):
    """Another process holds the lock."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A file that is locked while it is open. A file left by a process that died is not locked."""

    path: Path
    file: FileIO

    @classmethod
    def take(cls, path: Path) -> Lock:
        """Create a file if needed and lock it. Raises LockedError if it is locked, OSError if it cannot be created."""
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            file = FileIO(path, "a")
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(file, path):
                    return cls(path, file)
            except BlockingIOError as error:
                file.close()
                raise LockedError(str(path)) from error
            file.close()

    def release(self) -> None:
        """Remove the file and let others take the lock."""
        self.path.unlink(missing_ok=True)
        self.file.close()


def _is_at(file: FileIO, path: Path) -> bool:
    """Return True if the path still names the file: the previous holder of the lock may have removed it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
