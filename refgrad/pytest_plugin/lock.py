"""A lock on a report, so that two runs never write it at once. It ends with the process that holds it."""

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
    """A file that is locked while it is open. What a dead process left behind is a file like any other."""

    path: Path
    file: FileIO

    @classmethod
    def take(cls, path: Path) -> Lock:
        """Return the lock on a file, which is made. Raises LockedError where it is taken, and OSError."""
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
    """Whether a file is still there by its name: who held the lock before may have removed it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
