"""Cache of the compiled templates of C++ engines, in folders of the temporary directory.

The module needs only the standard library of Python 3.8, since the runner of C++ imports it.
"""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
from contextlib import suppress

LIMIT = 1 << 29
"""Number of bytes that are kept when an engine starts. What the engine then compiles is not limited."""


def hold(key: str) -> tuple[str, int]:
    """Create a folder unless it exists, and return its path and a descriptor that locks it until it is closed.

    Raises RuntimeError where the folder belongs to another user, since its files are loaded.
    """
    path = _prefix() + key
    os.makedirs(path, mode=0o700, exist_ok=True)
    with suppress(FileNotFoundError):
        if os.lstat(path).st_uid != os.getuid():
            raise RuntimeError("%s belongs to another user" % path)
        held = os.open(path, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_SH)
        if os.path.samestat(os.fstat(held), os.stat(path)):
            os.utime(path)
            return path, held
    return hold(key)  # another process has removed it in the meantime


def remove(limit: int = 0) -> dict[str, int]:
    """Remove the least recently used folders until ``limit`` bytes are left, and return the bytes of each by its path.

    A folder that a running process holds is kept.
    """
    folders = []
    for path in glob.glob(glob.escape(_prefix()) + "*"):
        with suppress(OSError):  # another process has removed it, or changes it
            folders.append((os.path.getmtime(path), path, sum(file.stat().st_size for file in os.scandir(path))))
    total, removed = sum(size for _, _, size in folders), {}
    for _, path, size in sorted(folders):
        if total > limit:
            with suppress(OSError):
                _remove(path)
                total, removed[path] = total - size, size
    return removed


def _prefix() -> str:
    return os.path.join(tempfile.gettempdir(), "refgrad-cpp-%d-" % os.getuid())


def _remove(path: str) -> None:
    """Remove a folder. Raises OSError if a process holds it."""
    held = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path)
    finally:
        os.close(held)
