"""What the tests of the command line share: a folder with a toy engine in it, in which ``refgrad`` is run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from syrupy.assertion import SnapshotAssertion

from refgrad.cli import main
from tests.faulty_engines.remembering import remembered_scenarios
from tests.pytest_plugin.toy_engine import import_toy_engine, write_toy_engine
from tests.snapshots.placement import PlainText

OF_ANOTHER_PROJECT = "raise RuntimeError('the settings of a project are no concern of a run')\n"


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    status: int
    output: str
    errors: str


@dataclass(frozen=True)
class Terminal:
    """Runs ``refgrad`` in a folder."""

    folder: Path

    def run(self, *arguments: str) -> Finished:
        """Run the command in a process of its own."""
        command = [sys.executable, "-m", "refgrad", *arguments]
        done = subprocess.run(command, cwd=self.folder, check=False, capture_output=True, text=True, timeout=300)
        return Finished(done.returncode, done.stdout, done.stderr)

    def invoke(self, *arguments: str, standard_input: str | None = None) -> Result:
        """Run the command in this process."""
        return CliRunner().invoke(main, arguments, input=standard_input)

    def grade(self, *arguments: str) -> Finished:
        """Grade with ``refgrad`` and one worker, unless more are asked for; the engine has a process of its own."""
        result = self.invoke("grade", "--workers", "1", *arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Finished(result.exit_code, result.stdout, result.stderr)


@pytest.fixture(autouse=True, scope="module")
def scenarios_are_remembered() -> Iterator[None]:
    with remembered_scenarios():
        yield


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A folder of its own."""
    write_toy_engine(tmp_path)
    import_toy_engine(monkeypatch)
    (tmp_path / "conftest.py").write_text(OF_ANOTHER_PROJECT)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):  # where they are set, more is told
        monkeypatch.delenv(name, raising=False)
    path = list(sys.path)
    yield Terminal(tmp_path)
    sys.path[:] = path
    for name, module in list(sys.modules.items()):  # other tests have other modules of these names
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(PlainText)
