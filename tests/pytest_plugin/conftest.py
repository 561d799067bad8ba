"""What the tests of the plugin share: a folder with a toy engine in it, in which pytest is run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from syrupy.assertion import SnapshotAssertion

import refgrad.cli  # noqa: F401 (so that sessions within this process need not load it again and again)
from refgrad.grading.bench import Bench
from refgrad.pytest_plugin.conformance import EngineSession
from refgrad.report.document import Report, read_report
from tests.faulty_engines.remembering import remembered_scenarios
from tests.pytest_plugin.toy_engine import import_toy_engine, write_toy_engine
from tests.snapshots.placement import PlainText


class Folder:
    """A folder in which pytest grades toy engines."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        write_toy_engine(pytester.path)

    def grade(self, engine: str, *arguments: str, apart: bool = False) -> pytest.RunResult:
        """Run pytest with an engine of the module ``toy``, in this process, with no plugins but those that grade.

        If it is to be ``apart``, it has a process of its own and all plugins, which take as long as a grade to load.
        Assertions stay as they are: to rewrite those of refgrad takes a process as long as to grade.
        """
        command = [
            "-p",
            "no:cacheprovider",
            "--assert=plain",
            f"--engine=toy:{engine}",
            "--refgrad-profile=smoke",
            "--grade-output=out",
        ]
        if apart:
            return self.pytester.runpytest_subprocess(*command, *arguments)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            plugins = ("-p", "xdist", "-p", "refgrad.pytest_plugin")
            return self.pytester.runpytest_inprocess(*plugins, *command, *arguments, no_reraise_ctrlc=True)

    def report(self, name: str) -> Report:
        """Return a report."""
        return read_report(self.path / "out" / f"{name}.json")

    def verdicts(self, name: str) -> dict[str, str]:
        """Return the outcomes of a report by check."""
        return {verdict.id: verdict.verdict for verdict in self.report(name).verdicts}


@pytest.fixture(autouse=True, scope="module")
def scenarios_are_remembered() -> Iterator[None]:
    with remembered_scenarios():
        yield


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Folder:
    for name in ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):  # where they are set, more is told
        monkeypatch.delenv(name, raising=False)
    import_toy_engine(monkeypatch)
    for owner, name in ((EngineSession, "verdict"), (Bench, "grade")):  # a test may replace them within this process
        monkeypatch.setattr(owner, name, getattr(owner, name))
    return Folder(pytester)


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(PlainText)
