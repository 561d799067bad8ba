"""Checks as items of pytest: one item each, without a file of tests behind it."""

from __future__ import annotations

import gc
import json
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.families import check_named
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.shared_verdicts import SharedVerdicts
from refgrad.native.engine import launch
from refgrad.native.text import plain_line, plain_text
from refgrad.pytest_plugin.known_failures import KnownFailures
from refgrad.pytest_plugin.plan import Plan
from refgrad.pytest_plugin.running import Running
from refgrad.report.findings import Script
from refgrad.report.narration import failure_text

PROPERTY: Final = "refgrad"
"""The name under which an item's report carries its verdict, from a worker to the controller too."""

SUITE: Final = "refgrad"
"""What stands before the ``::`` in an item's id."""


GARBAGE: Final = (20_000, 20, 20)
"""Thresholds of the garbage collector: scenarios and balls are many small objects, and hardly ever in cycles."""

LONGEST_TRACEBACK: Final = 20_000
"""The most characters that are kept of a traceback of refgrad itself."""


class CheckFailedError(Exception):
    """Carries what was found of a check that failed to the report of its item.

    ``waiting`` is the id of the check that was to be run and has nothing to say, because the other one failed.
    ``objection`` is what is wrong with what is known of the check.
    """

    def __init__(self, found: Script, waiting: str = "", objection: str = "") -> None:
        super().__init__(found.verdict.message)
        self.found = found
        self.waiting = waiting
        self.objection = objection

    @property
    def text(self) -> str:
        """What is said of it."""
        verdict = self.found.verdict
        if not verdict.failed:
            return self.objection
        told = "\n".join(part for part in (self.objection, failure_text(self.found)) if part)
        return f"{self.waiting} waits for {verdict.id}, which was not selected:\n{told}" if self.waiting else told


class EngineSession:
    """An engine, started when a check needs it, the verdicts that are known of it, and those that workers share."""

    def __init__(
        self,
        plan: Plan,
        known: Mapping[str, Verdict],
        shared: SharedVerdicts | None = None,
        running: Running | None = None,
    ) -> None:
        self.plan = plan
        self.known = known
        self.shared = shared
        self.running = running
        self._bench: Bench | None = None
        self._thresholds = gc.get_threshold()

    def start(self) -> Bench:
        """Start the engine unless that is done. Raises EngineStartError."""
        if self._bench is None:
            engine = launch(self.plan.adapter, self.plan.isolation)
            engine.watch = self.running.watch() if self.running is not None and self.plan.isolation.in_process else None
            _ = engine.spellings  # raises EngineStartError where the names of the library cannot be read
            self._bench = Bench(engine, self.plan.settings, self.shared)
            self._thresholds = gc.get_threshold()
            gc.set_threshold(*GARBAGE)
        return self._bench

    def end(self) -> None:
        """Leave the process as it was."""
        if self._bench is not None:
            gc.set_threshold(*self._thresholds)
        if self.shared is not None:
            self.shared.close()

    def verdict(self, check: Check) -> Verdict:
        """Return what is known of a check, or run it. What the engine warns of is no concern of the checks."""
        if check.id in self.known:
            return self.known[check.id]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.start().grade(check)


class Suite(pytest.Collector):
    """The collector of every check that the session's engine is graded by."""

    engine: EngineSession

    @classmethod
    def of(cls, session: pytest.Session, engine: EngineSession) -> Suite:
        """Return the suite of a session."""
        suite: Suite = cls.from_parent(session, name=SUITE, nodeid=SUITE)
        suite.engine = engine
        return suite

    def collect(self) -> Iterator[CheckItem]:
        """Return one item a check, in the order of a report."""
        for check in self.engine.plan.checks:
            item: CheckItem = CheckItem.from_parent(self, name=check.id)
            item.check, item.engine = check, self.engine
            yield item


class CheckItem(pytest.Item):
    """One check. It fails where an engine must do better, and says how; otherwise it passes, is skipped or xfails."""

    check: Check
    engine: EngineSession

    def runtest(self) -> None:
        """Grade, and turn the verdict into what pytest knows."""
        try:
            verdict = self.engine.verdict(self.check)
        except KeyboardInterrupt as error:
            if hasattr(self.config, "workerinput"):  # whoever stops a run stops its controller: this is the engine's
                raise RuntimeError("the check was interrupted") from error
            raise
        self._attach(verdict)
        objection = self._known.objection(verdict)
        if objection or self._fails(verdict):
            raise CheckFailedError(self.engine.plan.script(verdict), objection=objection)
        if excuse := verdict.failed and self._known.excuse(verdict):
            pytest.xfail(excuse)
        if verdict.failed:
            pytest.xfail(f"{verdict.verdict}, on the level {verdict.level}: {plain_line(verdict.message)}")
        if verdict.verdict == "unsupported":
            pytest.skip(plain_line(verdict.message) or "the engine does not offer it")
        self._run_causes(verdict)

    def _run_causes(self, verdict: Verdict) -> None:
        """Run what this check waits for, where that was not selected: it must not fail unseen."""
        if not verdict.cause:
            return
        selected = {item.name for item in self.session.items if isinstance(item, CheckItem)}
        while verdict.cause and verdict.cause not in selected:
            selected.add(verdict.cause)
            verdict = self.engine.verdict(check_named(verdict.cause))
            self._attach(verdict)
            if self._fails(verdict):
                raise CheckFailedError(self.engine.plan.script(verdict), self.check.id)

    @property
    def _known(self) -> KnownFailures:
        return self.engine.plan.known_failures

    def _fails(self, verdict: Verdict) -> bool:
        """Whether a verdict fails the session."""
        return verdict.failed and verdict.level == "MUST" and not self._known.excuse(verdict)

    def _attach(self, verdict: Verdict) -> None:
        self.user_properties.append(as_property(verdict))

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,
    ) -> Any:
        """Return the text of the verdict, not a traceback; of another error, a traceback through refgrad alone."""
        if isinstance(excinfo.value, CheckFailedError):
            return excinfo.value.text
        if isinstance(excinfo.value, pytest.xfail.Exception):
            return str(excinfo.value)
        excinfo.traceback = excinfo.traceback.cut(path=__file__)
        shown = super().repr_failure(excinfo, style or "short")
        text = str(shown)
        return shown if plain_text(text, LONGEST_TRACEBACK) == text else plain_text(text, LONGEST_TRACEBACK)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return what stands above a failure: the id of the check."""
        return self.path, None, self.name


def as_property(verdict: Verdict) -> tuple[str, str]:
    """Return a verdict as a property of its item, in JSON: pytest writes properties into the file of --junitxml."""
    return PROPERTY, json.dumps(verdict.to_json())


def verdicts_in(report: pytest.TestReport) -> list[Verdict]:
    """Return the verdicts that a report carries: that of its check, and those of what the check waits for.

    There are none in a report of something else, or of an item's setup or teardown.
    """
    if report.when in {"setup", "teardown"}:
        return []
    rows = (str(value) for name, value in report.user_properties if name == PROPERTY)
    return [Verdict.from_json(json.loads(row)) for row in rows]
