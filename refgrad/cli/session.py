"""Grading of one engine from the command line: a pytest session with refgrad's plugin, whose output is captured."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

import pytest

from refgrad.pytest_plugin import GradeOptions, portable_path
from refgrad.pytest_plugin.conformance import verdicts_in
from refgrad.pytest_plugin.recording import SessionRecorder
from refgrad.pytest_plugin.session import RECORDER

SETTINGS: Final = Path(__file__).with_name("pytest.ini")
"""Empty pytest configuration, so that a run does not depend on the project that it is started in."""

PLUGINS: Final = (
    "no:cacheprovider",
    "no:faulthandler",
    "no:threadexception",
    "no:tmpdir",
    "no:unraisableexception",
    "xdist",
    "refgrad.pytest_plugin",
)
"""Plugins that a run needs, and plugins of pytest that it disables.

Some of the latter traverse all objects of the process at its end, or delete the temporary folders of other sessions.
"""

QUIET: Final = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
"""Environment in which a session and its workers load no other plugins and take no other options."""


@dataclass(eq=False)
class SessionResult:
    """The result of a session: its recorder, pytest's exit code, and pytest's output.

    As a plugin of the session it keeps the recorder, and calls ``advance`` once for every verdict as it arrives.
    """

    advance: Callable[[], object]
    recorder: SessionRecorder | None = None
    code: int = 0
    output: str = ""

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep the recorder of the session."""
        self.recorder = session.config.pluginmanager.get_plugin(RECORDER)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Call ``advance`` for a report with a verdict."""
        if verdicts_in(report):
            self.advance()


def run_session(options: GradeOptions, workers: int, advance: Callable[[], object]) -> SessionResult:
    """Grade an engine in ``workers`` processes and wait for it; ``advance`` is called once for every verdict.

    One worker is this process, unless the engine runs in it, too, and could end it.
    """
    result, output = SessionResult(advance), io.StringIO()
    sys.argv = [portable_path(word) for word in sys.argv]  # pytest-xdist sends it to workers
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output):
        for name, value in QUIET.items():
            patch.setenv(name, value)
        result.code = int(pytest.main(_arguments(options, workers), plugins=[result]))
    result.output = output.getvalue()
    return result


def _arguments(options: GradeOptions, workers: int) -> list[str]:
    arguments = ["-c", str(SETTINGS), f"--rootdir={Path.cwd()}", "--noconftest"]
    arguments += [word for plugin in PLUGINS for word in ("-p", plugin)]
    arguments += ["-n", str(workers if workers > 1 or options.in_process else 0), "--assert=plain"]
    return arguments + [each for field in fields(options) for each in _option(field.name, getattr(options, field.name))]


def _option(name: str, value: object) -> list[str]:
    """Return the arguments of pytest for the value of an option."""
    option = f"--refgrad-{name.replace('_', '-')}"
    if value is None or isinstance(value, bool):
        return [option] if value else []
    values = value if isinstance(value, tuple) else (value,)
    return [f"{option}={portable_path(each) if isinstance(each, Path) else each}" for each in values]
