"""How does a check become an item of pytest? One item each, without a file of tests behind it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from refgrad.harness import Verdict, start
from refgrad.harness.checks import Check
from refgrad.harness.grading import Grader
from refgrad.pytest_plugin.crash import Traces
from refgrad.pytest_plugin.plan import Plan
from refgrad.report import failure_text

PROPERTY: Final = "refgrad"
"""The name under which an item's report carries its verdict, from a worker to the controller too."""

SUITE: Final = "refgrad"
"""What stands before the ``::`` in an item's id."""


class CheckFailedError(Exception):
    """Carries the verdict of a check that failed to the report of its item."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


class Bench:
    """Where checks are run: an engine, started when a check needs it, and the verdicts that are known."""

    def __init__(
        self, plan: Plan, known: Mapping[str, Verdict], worker: str = "", traces: Traces | None = None
    ) -> None:
        """``traces`` tell whoever finds this ``worker`` dead what it was doing."""
        self.plan = plan
        self.known = known
        self.worker = worker
        self.traces = traces
        self._grader: Grader | None = None

    def start(self) -> Grader:
        """Start the engine unless that is done. Raises EngineStartError."""
        if self._grader is None:
            engine = start(self.plan.adapter)
            if self.traces is not None:
                self.traces.follow(engine, self.worker)
            self._grader = Grader(engine, self.plan.settings)
        return self._grader

    def verdict(self, check: Check) -> Verdict:
        """Return what is known of a check, or run it. What the engine warns of is no concern of the checks."""
        if check.id in self.known:
            return self.known[check.id]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grader = self.start()
            if self.traces is not None:
                grader.engine.lethal = self.traces.lethal
            return grader.grade(check)


class Suite(pytest.Collector):
    """The collector of every check that the session's engine is graded by."""

    bench: Bench

    @classmethod
    def of(cls, session: pytest.Session, bench: Bench) -> Suite:
        """Return the suite of a session."""
        suite: Suite = cls.from_parent(session, name=SUITE, nodeid=SUITE)
        suite.bench = bench
        return suite

    def collect(self) -> Iterator[CheckItem]:
        """Return one item a check, in the order of a report."""
        for check in self.bench.plan.checks:
            item: CheckItem = CheckItem.from_parent(self, name=check.id)
            item.check, item.bench = check, self.bench
            yield item


class CheckItem(pytest.Item):
    """One check. It fails where an engine must do better, and says how; otherwise it passes, is skipped or xfails."""

    check: Check
    bench: Bench

    def runtest(self) -> None:
        """Grade, and turn the verdict into what pytest knows."""
        verdict = self.bench.verdict(self.check)
        self.user_properties.append((PROPERTY, verdict.to_json()))
        if verdict.failed and verdict.level == "MUST":
            raise CheckFailedError(verdict)
        if verdict.failed:
            pytest.xfail(f"{verdict.verdict}, on the level {verdict.level}: {verdict.message}")
        if verdict.verdict == "unsupported":
            pytest.skip(verdict.message or "the engine does not offer it")

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,
    ) -> Any:
        """Return the text of the verdict, not a traceback through the harness."""
        if isinstance(excinfo.value, CheckFailedError):
            return failure_text(excinfo.value.verdict)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return what stands above a failure: the id of the check."""
        return self.path, None, self.name


def verdict_in(report: pytest.TestReport) -> Verdict | None:
    """Return the verdict that a report carries, None if it is of something else, or of an item's setup or teardown."""
    if report.when in {"setup", "teardown"}:
        return None
    rows = [value for name, value in report.user_properties if name == PROPERTY]
    return Verdict.from_json(dict(rows[-1])) if rows else None  # type: ignore[call-overload]
