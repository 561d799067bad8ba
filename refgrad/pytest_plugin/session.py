"""The parts that the plugin adds to a session that names an engine: items, a recorder of verdicts, a summary."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from refgrad.errors import EngineStartError, UserError
from refgrad.grading.journal import SharedVerdicts
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.adapter.registry import adapter_of
from refgrad.pytest_plugin import GradeOptions
from refgrad.pytest_plugin.conformance import PROPERTY, SUITE, CheckItem, EngineSession, Running, Suite
from refgrad.pytest_plugin.plan import Lock, Plan
from refgrad.pytest_plugin.recording import CANNOT_START, SessionRecorder, Signals, write_junit_error
from refgrad.pytest_plugin.workers import MOST_DEATHS, WorkerSupervision

RECORDER = "refgrad-recorder"


def install(config: pytest.Config, options: GradeOptions) -> None:
    """Register everything with the session. Raises UsageError if the engine, the profile or a pattern is unknown."""
    try:
        if config.args_source is not config.ArgsSource.ARGS:  # without paths on the command line only the checks run
            config.args, config.args_source = [], config.ArgsSource.ARGS
        if hasattr(config, "workerinput"):
            config.pluginmanager.register(_worker(config, options), "refgrad-conformance")
        else:
            _install_controller(config, Plan.of(options))
    except EngineStartError as error:
        write_junit_error(config, str(error))
        pytest.exit(str(error), returncode=CANNOT_START)
    except UserError as error:
        write_junit_error(config, str(error))
        raise pytest.UsageError(str(error)) from error


def _install_controller(config: pytest.Config, plan: Plan) -> None:
    lock = None if config.option.collectonly else plan.lock()
    if lock is not None:
        config.add_cleanup(lock.release)
    known = plan.known()
    signals = Signals()
    config.pluginmanager.register(signals, "refgrad-signals")
    recorder = SessionRecorder(plan, known, signals)
    config.pluginmanager.register(recorder, RECORDER)
    config.pluginmanager.register(Conformance(EngineSession(plan, known)), "refgrad-conformance")
    if config.pluginmanager.has_plugin("xdist"):
        shared = _shared_file(config, lock)
        config.pluginmanager.register(WorkerSupervision(recorder, str(shared)), "refgrad-workers")
        if config.option.maxworkerrestart is None:
            config.option.maxworkerrestart = str(len(plan.checks) + MOST_DEATHS)
        if config.option.maxschedchunk is None:  # checks take from milliseconds to seconds
            config.option.maxschedchunk = 1


def _shared_file(config: pytest.Config, lock: Lock | None) -> Path:
    """Return the path at which workers share verdicts, next to the report if one is written.

    The lock on the report shows that a file at that path is left over from a run that was killed.
    """
    if lock is None:
        folder = TemporaryDirectory(prefix="refgrad-verdicts-")
        config.add_cleanup(folder.cleanup)
        return Path(folder.name) / "verdicts"
    shared = lock.path.with_suffix(".verdicts")
    _remove(shared)
    config.add_cleanup(partial(_remove, shared))
    return shared


def _remove(shared: Path) -> None:
    """Remove the file of shared verdicts, and those next to it that hold the scenario of each worker."""
    for path in shared.parent.glob(f"{shared.name}*"):
        path.unlink(missing_ok=True)


def _worker(config: pytest.Config, options: GradeOptions) -> Conformance:
    data: Mapping[str, Any] = json.loads(config.workerinput[PROPERTY])  # type: ignore[attr-defined]
    known = [Verdict.from_json(dict(row)) for row in data["known"]]
    shared = SharedVerdicts(Path(data["shared"]))
    plan = Plan.of(options, None if data["adapter"] is None else adapter_of(data["adapter"]))
    running = Running(Path(data["running"]))
    return Conformance(EngineSession(plan, {verdict.id: verdict for verdict in known}, shared, running))


@dataclass(eq=False)
class Conformance:
    """Adds the items, and starts the engine before the first of them runs."""

    engine: EngineSession

    def pytest_unconfigure(self) -> None:
        """End the engine session."""
        self.engine.end()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Collect the suite, before options such as -k select among the items."""
        suite: Suite = Suite.from_parent(session, name=SUITE, nodeid=SUITE)
        suite.engine = self.engine
        report = session.ihook.pytest_make_collect_report(collector=suite)
        items.extend(report.result)
        session.ihook.pytest_collectreport(report=report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Start the engine if a check is to be run, and end the session if that fails."""
        checks = [item.check for item in session.items if isinstance(item, CheckItem)]
        if session.config.option.collectonly or all(check.id in self.engine.known for check in checks):
            return
        try:
            self.engine.start()
        except EngineStartError as error:
            _give_up(session.config, str(error))
        except (SystemExit, KeyboardInterrupt) as error:
            recorder = session.config.pluginmanager.get_plugin(RECORDER)  # a worker of xdist has no recorder
            if recorder is not None and recorder.signals.received:
                raise
            name = self.engine.plan.adapter.name
            _give_up(session.config, f"engine {name!r} cannot be started: its setup raised {type(error).__name__}")


def _give_up(config: pytest.Config, message: str) -> None:
    recorder = config.pluginmanager.get_plugin(RECORDER)
    if recorder is not None:
        recorder.give_up(message)
    config.workeroutput[PROPERTY] = message  # type: ignore[attr-defined]
    pytest.exit(message)
