"""The supervisor of one runner: it starts the runner, and ends every process that the runner has started.

    python supervisor.py MARKS LIFELINE COMMAND...

MARKS and LIFELINE are file descriptors. The supervisor adopts the processes that the runner abandons (as a subreaper of
Linux), so that none of them outlives it, whatever its session. The supervisor ends when the runner ends, with the same
exit status or by the same signal. It also ends when the pipe LIFELINE is closed, by its owner or because its owner
ends.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress
from mmap import mmap
from struct import calcsize, pack_into
from typing import Dict, List

PR_SET_CHILD_SUBREAPER = 36
PID, ERRNO = calcsize("<II"), calcsize("<III")
"""Offsets in MARKS of the ID of the process that runs programs, and of the error number if it could not be started."""

SECONDS_TO_END = 5.0
"""Seconds for which the supervisor kills descendants of the runner. Those that keep starting others may survive."""


def adopt_orphans() -> None:
    """Make this process the parent of all descendants whose parent ends."""
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, True)  # noqa: FBT003 (a function of C)


def started(marks: mmap, command: List[str]) -> int:
    """Start a command in a new session, and return its process ID."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        os.execvp(command[0], command)  # noqa: S606 (the interpreter that the user named)
    except OSError as error:
        pack_into("<I", marks, ERRNO, error.errno)
    os._exit(127)


def descendants() -> List[int]:
    """Return the IDs of the processes that this one has started or adopted, and of all their descendants."""
    children: Dict[int, List[int]] = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % entry, "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        children.setdefault(parent, []).append(int(entry))
    pids = list(children.get(os.getpid(), ()))
    for pid in pids:
        pids += children.get(pid, ())
    return pids


def reaped(runner: int) -> int | None:
    """Collect the children that have ended; return the wait status of the runner if it is among them."""
    status = None
    while True:
        try:
            pid, each = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if not pid:
            return status
        if pid == runner:
            status = each


def end_all(runner: int) -> None:
    """Kill the runner's session and every descendant, until none is left or the time is up."""
    deadline = time.monotonic() + SECONDS_TO_END
    while time.monotonic() < deadline:
        with suppress(OSError):
            os.killpg(runner, signal.SIGKILL)
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        for pid in descendants():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        reaped(runner)
        time.sleep(0.002)


def end_like(status: int) -> None:
    """End this process with the exit status, or by the signal, that a wait status holds."""
    if os.WIFSIGNALED(status):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core file, that of the runner, is enough
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def main() -> None:
    """Start the runner, and end with it or when the lifeline is closed, whichever comes first."""
    marks, lifeline = mmap(int(sys.argv[1]), 0), int(sys.argv[2])
    os.set_inheritable(lifeline, False)  # noqa: FBT003 (its signature)
    adopt_orphans()
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    runner = started(marks, sys.argv[3:])
    pack_into("<I", marks, PID, runner)
    for pipe in (0, 1):  # these belong to the runner: the grader must notice when the runner closes them
        os.close(pipe)
    status = None
    while status is None:
        ready, _, _ = select.select([lifeline, woken], [], [])
        if lifeline in ready:
            break
        os.read(woken, select.PIPE_BUF)
        status = reaped(runner)
    end_all(runner)
    end_like(status or 0)


if __name__ == "__main__":
    main()
