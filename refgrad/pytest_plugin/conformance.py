"""Checks as items of pytest, and the file that names the scenario that a worker is running."""

from __future__ import annotations

import gc
import json
import mmap
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.families import check_named
from refgrad.grading.journal import SharedVerdicts
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.engine import launch
from refgrad.native.text import plain_line, plain_text
from refgrad.operators import operator_table
from refgrad.pytest_plugin.plan import Plan
from refgrad.report import CHARACTERS
from refgrad.report.ci import failure_text
from refgrad.report.findings import Script
from refgrad.scenario import Apply, Scenario


@dataclass(frozen=True, slots=True)
class Running:
    """A file with the operator that is being applied, which a worker maps into its memory, and which outlives it."""

    path: Path

    def watch(self) -> Callable[[Scenario], Callable[[int], None]]:
        """Return a function of a scenario that returns a function that stores the operator of each step."""
        size = max(map(len, operator_table()))
        self.path.write_bytes(bytes(size))
        with self.path.open("r+b") as file:
            memory = mmap.mmap(file.fileno(), size)

        def begin(scenario: Scenario) -> Callable[[int], None]:
            applied = (step.operator if isinstance(step, Apply) else "" for step in scenario.steps)
            stored = [name.encode().ljust(size, b"\0") for name in ("", *applied)]

            def note(step: int) -> None:  # also called for the steps of programs of measurements
                memory[:] = stored[step if step < len(stored) else 0]

            note(0)
            return note

        return begin

    def operator(self) -> str:
        """Return the operator that was being applied, or an empty string."""
        return self.path.read_bytes().rstrip(b"\0").decode() if self.path.exists() else ""


PROPERTY: Final = "refgrad"
"""Name under which an item's report carries its verdict, and workers and controller exchange data."""

SUITE: Final = "refgrad"
"""Part of an item's id before the ``::``."""


GARBAGE: Final = (20_000, 20, 20)
"""Thresholds of the garbage collector, which are high: scenarios and balls are many small objects, rarely in cycles."""


class CheckFailedError(Exception):
    """Carries the result of a failed check to the report of an item.

    ``waiting`` is the id of the item's check if that has no result because the check of ``script`` failed.
    ``objection`` is the problem with the known failure of the check.
    """

    def __init__(self, script: Script, waiting: str = "", objection: str = "") -> None:
        super().__init__(script.verdict.message)
        self.script = script
        self.waiting = waiting
        self.objection = objection

    @property
    def text(self) -> str:
        """Text of the failure in the report."""
        verdict = self.script.verdict
        if not verdict.failed:
            return self.objection
        text = "\n".join(part for part in (self.objection, failure_text(self.script)) if part)
        return f"{self.waiting} waits for {verdict.id}, which was not selected:\n{text}" if self.waiting else text


@dataclass(eq=False, slots=True)
class EngineSession:
    """An engine, started when a check needs it, its known verdicts, and the verdicts that workers share."""

    plan: Plan
    known: Mapping[str, Verdict]
    shared: SharedVerdicts | None = None
    running: Running | None = None
    _bench: Bench | None = None
    _thresholds: tuple[int, int, int] = field(default_factory=gc.get_threshold)

    def start(self) -> Bench:
        """Start the engine unless it is started. Raises EngineStartError if it cannot be started."""
        if self._bench is None:
            engine = launch(self.plan.adapter, self.plan.isolation)
            engine.watch = self.running.watch() if self.running is not None and self.plan.isolation.in_process else None
            _ = engine.spellings  # raises EngineStartError if the names of the library cannot be read
            self._bench = Bench(engine, self.plan.settings, self.shared)
            self._thresholds = gc.get_threshold()
            gc.set_threshold(*GARBAGE)
        return self._bench

    def end(self) -> None:
        """End the engine's process, restore the thresholds of the garbage collector and close the shared verdicts."""
        if self._bench is not None:
            gc.set_threshold(*self._thresholds)
            self._bench.engine.runner.stop()
        if self.shared is not None:
            self.shared.close()

    def verdict(self, check: Check) -> Verdict:
        """Return the known verdict of a check, or run it. Warnings of the engine are ignored."""
        if check.id in self.known:
            return self.known[check.id]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.start().grade(check)


class Suite(pytest.Collector):
    """Collector of all checks of the session's engine."""

    engine: EngineSession

    def collect(self) -> Iterator[CheckItem]:
        """Yield one item for each check, in the order of a report."""
        for check in self.engine.plan.checks:
            item: CheckItem = CheckItem.from_parent(self, name=check.id)
            item.check, item.engine = check, self.engine
            yield item


class CheckItem(pytest.Item):
    """Item of one check. It fails for an unexpected verdict on the level MUST; else it passes, is skipped or xfails."""

    check: Check
    engine: EngineSession

    def runtest(self) -> None:
        """Run the check and turn its verdict into an outcome of pytest."""
        try:
            verdict = self.engine.verdict(self.check)
        except KeyboardInterrupt as error:
            if hasattr(self.config, "workerinput"):  # users stop the controller: this comes from the engine
                raise RuntimeError("the check was interrupted") from error
            raise
        self.user_properties.append(as_property(verdict))
        known = self.engine.plan.known_failures
        objection = known.objection(verdict)
        if objection or self._fails(verdict):
            raise CheckFailedError(self.engine.plan.script(verdict), objection=objection)
        if reason := verdict.failed and known.reason_to_accept(verdict):
            pytest.xfail(reason)
        if verdict.failed:
            pytest.xfail(f"{verdict.verdict}, on the level {verdict.level}: {plain_line(verdict.message)}")
        if verdict.verdict == "unsupported":
            pytest.skip(plain_line(verdict.message) or "the engine does not offer it")
        self._run_causes(verdict)

    def _run_causes(self, verdict: Verdict) -> None:
        """Run the checks that this one waits for if they were not selected, so that their failures are reported."""
        if not verdict.cause:
            return
        selected = {item.name for item in self.session.items if isinstance(item, CheckItem)}
        while verdict.cause and verdict.cause not in selected:
            selected.add(verdict.cause)
            verdict = self.engine.verdict(check_named(verdict.cause))
            self.user_properties.append(as_property(verdict))
            if self._fails(verdict):
                raise CheckFailedError(self.engine.plan.script(verdict), self.check.id)

    def _fails(self, verdict: Verdict) -> bool:
        """Return True if a verdict fails the session."""
        accepted = self.engine.plan.known_failures.reason_to_accept(verdict)
        return verdict.failed and verdict.level == "MUST" and not accepted

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the text of the verdict, not a traceback; for other errors, a traceback without frames of pytest."""
        if isinstance(excinfo.value, CheckFailedError):
            return excinfo.value.text
        if isinstance(excinfo.value, pytest.xfail.Exception):
            return str(excinfo.value)
        excinfo.traceback = excinfo.traceback.cut(path=__file__)
        trace = super().repr_failure(excinfo, style or "short")
        text = str(trace)
        plain = plain_text(text, CHARACTERS["output"])
        return trace if plain == text else plain

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the headline of a failure, which is the id of the check."""
        return self.path, None, self.name


def as_property(verdict: Verdict) -> tuple[str, str]:
    """Return a verdict as a property of its item, in JSON. pytest writes properties into the file of --junitxml."""
    return PROPERTY, json.dumps(verdict.to_json())


def verdicts_in(report: pytest.TestReport) -> list[Verdict]:
    """Return the verdicts that a report carries: that of its check, and those of the checks that it waits for.

    Reports of other items, and of an item's setup or teardown, carry none.
    """
    if report.when in {"setup", "teardown"}:
        return []
    rows = (str(value) for name, value in report.user_properties if name == PROPERTY)
    return [Verdict.from_json(json.loads(row)) for row in rows]
