"""Tests run in a process of their own, in a copy of the repository, until the first fails."""

from __future__ import annotations

import gc
import importlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import hypothesis
import pytest

LOADED_ONCE = (
    "numpy",
    "scipy.special",
    "scipy.optimize",
    "flint",
    "sympy",
    "mpmath",
    "jsonschema_rs",
    "autograd",
    "torch",
)
"""What every process would load again; they are forks of one that has it. None of it is refgrad."""

PLUGINS = ("_hypothesis_pytestplugin", "syrupy", "pytest_benchmark.plugin")
"""Of pytest, that tests use. refgrad's own would have all its modules rewritten, as those of tests are."""


def load_once() -> None:
    """Load the libraries that tests use, as far as they are there."""
    for name in LOADED_ONCE:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()


class Failures:
    """A plugin of pytest that runs some tests in a given order and writes down the first that fails."""

    def __init__(self, wanted: Collection[str], note: Path) -> None:
        """Run the ``wanted`` tests, by id, and leave the first failure in the file ``note``."""
        self.order = {name: place for place, name in enumerate(wanted)}
        self.note = note

    def pytest_sessionstart(self) -> None:
        """Let hypothesis report a failing example as it is: nobody reads it, and shrinking takes long."""
        os.environ.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutation", deadline=None, phases=phases, database=None)
        hypothesis.settings.load_profile("mutation")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the wanted tests, in their order."""
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda item: self.order[item.nodeid])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note that a file cannot even be collected."""
        if report.failed:
            self._tell(f"{report.nodeid} (cannot be collected)")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that fails."""
        if report.failed:
            self._tell(report.nodeid)

    def _tell(self, what: str) -> None:
        if not self.note.exists():
            self.note.write_text(what, encoding="utf-8")


def run_forked(overlay: Path, arguments: Sequence[str], plugin: Any, seconds: float) -> int | None:
    """Run pytest on a copy in a fork, for so many seconds of the processor; return its exit code, None if it died."""
    child = os.fork()
    if child == 0:
        _run(overlay, arguments, plugin, int(seconds) + 1)
    return _awaited(child, 20 * seconds + 60)


def _awaited(child: int, seconds: float) -> int | None:
    """Wait for a child, on a machine that may have little time for it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _run(overlay: Path, arguments: Sequence[str], plugin: Any, seconds: int) -> None:
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        _enter(overlay)
        options = [*(f"-p{name}" for name in ("no:cacheprovider", *PLUGINS)), "-q", f"--rootdir={overlay}"]
        options += ["-Wignore::pytest.PytestAssertRewriteWarning", "--hypothesis-seed=0"]
        code = int(pytest.main([*options, *arguments], plugins=[plugin]))
    except BaseException:  # noqa: BLE001 (a child never returns)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _enter(overlay: Path) -> None:
    """Let this process, and those that it starts, see the copy in place of the checkout."""
    os.chdir(overlay)
    os.environ["PYTHONPATH"] = str(overlay)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("REFGRAD_SPECS", None)
    sys.path[0] = str(overlay)
    sys.dont_write_bytecode = False
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        del sys.modules[name]
    output = os.open(overlay / "output.txt", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(output, stream)


def first_failure(overlay: Path, tests: Mapping[str, float], seconds: float) -> str | None:
    """Run tests, by id with the seconds that each takes; return the one that failed, or that time was up, or None."""
    note = overlay / "first-failure"
    note.unlink(missing_ok=True)
    files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
    code = run_forked(overlay, ["-x", *files], Failures(tests, note), seconds)
    if note.exists():
        return note.read_text(encoding="utf-8")
    if code is None:
        return "the time limit"
    return None if code in {int(pytest.ExitCode.OK), int(pytest.ExitCode.NO_TESTS_COLLECTED)} else "pytest itself"
