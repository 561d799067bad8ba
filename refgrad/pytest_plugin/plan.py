"""The plan of a session: the engine, its checks, settings, known verdicts, and the lock on its report."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from io import FileIO
from pathlib import Path
from typing import Any

import refgrad
from refgrad.errors import UserError, suggestion
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.families import all_checks
from refgrad.grading.journal import Journal
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import EFFORTS, Settings
from refgrad.native.adapter import AnyAdapter, engine_version, find_adapter
from refgrad.native.adapter.registry import adapter_data
from refgrad.native.engine import Isolation
from refgrad.native.engine_names import shipped_engines
from refgrad.native.process import Limits
from refgrad.native.text import plain_line
from refgrad.pytest_plugin import GradeOptions
from refgrad.pytest_plugin.known_failures import KnownFailures
from refgrad.report.document import describe_engine, document_path
from refgrad.report.findings import Script


@dataclass(frozen=True, slots=True)
class Lock:
    """A file that is locked while it is open. A file left by a process that died is not locked."""

    path: Path
    file: FileIO

    @classmethod
    def take(cls, path: Path) -> Lock:
        """Create a file if needed and lock it. Raises BlockingIOError if it is locked, or another OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            file = FileIO(path, "a")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(file, path):
                    return cls(path, file)
            except BlockingIOError:
                file.close()
                raise
            file.close()

    def release(self) -> None:
        """Remove the file and let others take the lock."""
        self.path.unlink(missing_ok=True)
        self.file.close()


def _is_at(file: FileIO, path: Path) -> bool:
    """Return True if the path still names the file: the previous holder of the lock may have removed it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


class PlanError(UserError):
    """A request cannot be fulfilled. The message gives the reason in one line."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An adapter, the checks of its engine, the settings and the known failures."""

    options: GradeOptions
    adapter: AnyAdapter
    settings: Settings
    checks: tuple[Check, ...]
    known_failures: KnownFailures

    @classmethod
    def of(cls, options: GradeOptions, adapter: AnyAdapter | None = None) -> Plan:
        """Return the plan for options, with the adapter if it is known. Raises UserError if they are invalid."""
        if options.profile not in EFFORTS:
            raise PlanError(f"there is no profile {options.profile!r}; there are: {', '.join(EFFORTS)}")
        if options.output is not None:
            _refuse_what_is_no_folder(options.output)
        if options.in_process and options.python is not None:
            raise PlanError("an engine runs in this process or in another interpreter, not in both")
        for limit in (options.time_limit, options.start_limit):
            if limit is not None and not limit > 0:
                raise PlanError(f"a time limit is a positive number of seconds, not {limit:g}")
        settings, checks = Settings(options.profile, options.seed), selected(options.select)
        if adapter is None:
            adapter = find_adapter(options.engine, options.start_limit or Limits().start)
        if options.name is not None:
            if not options.name.strip():
                raise PlanError("the name of an engine is not empty")
            adapter = replace(adapter, name=options.name)
        plan = cls(options, adapter, settings, checks, _known_failures(options, adapter))
        if plan.report is not None and plan.report.is_dir():
            raise PlanError(f"{plan.report} is a folder, so no report can be written there")
        return plan

    @property
    def isolation(self) -> Isolation:
        """Process, interpreter and limits with which the engine runs."""
        options = self.options
        memory = None if options.memory_limit is None else options.memory_limit << 20
        chosen: dict[str, Any] = {"program": options.time_limit, "start": options.start_limit, "memory": memory}
        limits = Limits(**{name: limit for name, limit in chosen.items() if limit is not None})
        return Isolation(in_process=options.in_process, python=options.python or sys.executable, limits=limits)

    @property
    def adapter_data(self) -> Mapping[str, Any] | None:
        """Adapter as data for workers, or None if they read it from the same file."""
        engine = self.options.engine
        return None if engine.endswith(".toml") or engine in shipped_engines() else adapter_data(self.adapter)

    @property
    def title(self) -> str:
        """Engine, version, profile and seed in one line."""
        version = engine_version(self.adapter, self.isolation.python)
        engine = self.adapter.name if version == "unknown" else f"{self.adapter.name} {version}"
        return f"{engine}, profile {self.settings.profile}, seed {self.settings.seed}"

    def script(self, verdict: Verdict) -> Script:
        """Return the sentence and the program for a verdict on this plan's engine."""
        version = engine_version(self.adapter, self.isolation.python)
        return Script(self.adapter.name, version, verdict, language=self.adapter.language, setup=self.adapter.setup)

    @property
    def header(self) -> dict[str, Any]:
        """Data in which two runs must agree for their verdicts to be comparable: engine, suite, profile and seed."""
        return {
            "schema": "refgrad/journal/1",
            "engine": describe_engine(self.adapter, self.isolation.python),
            "refgrad": refgrad.__version__,
            "profile": self.settings.profile,
            "seed": self.settings.seed,
        }

    @property
    def report(self) -> Path | None:
        """Path of the report, or None if none is written."""
        return None if self.options.output is None else document_path(self.options.output, self.adapter.name)

    @property
    def journal(self) -> Journal | None:
        """Journal that keeps the verdicts during the run, next to the report, or None if none is written."""
        return None if self.report is None else Journal(self.report.with_suffix(".journal.jsonl"))

    def lock(self) -> Lock | None:
        """Return the lock on the report, or None if none is written.

        Raises PlanError if another run writes the same report, or if nothing can be written.
        """
        if self.report is None:
            return None
        try:
            return Lock.take(self.report.with_name(f".{self.report.stem}.lock"))
        except BlockingIOError as error:
            raise PlanError(f"{self.report} is being written by another run") from error
        except OSError as error:
            raise PlanError(f"{self.report} cannot be written: {error.strerror}") from error

    def known(self) -> Mapping[str, Verdict]:
        """Return the verdicts of the run that is resumed, by check; none for a new run or without a journal.

        Raises JournalError if the journal belongs to another run or is damaged.
        """
        journal = self.journal
        if not self.options.resume or journal is None or not journal.path.exists():
            return {}
        return {verdict.id: verdict for verdict in journal.resume(self.header)}


def _known_failures(options: GradeOptions, adapter: AnyAdapter) -> KnownFailures:
    """Return the known failures of the engine. Raises PlanError or KnownFailuresError if the options are invalid."""
    if options.expect is None:
        if options.update:
            raise PlanError("to update the known failures, name their file with --expect FILE")
        return KnownFailures()
    version = engine_version(adapter, options.python or sys.executable)
    return KnownFailures.of(options.expect, adapter.name, version, updates=options.update)


def _refuse_what_is_no_folder(path: Path) -> None:
    """Raise PlanError for a path that cannot be a folder, contains a NUL, or is not valid UTF-8."""
    try:
        os.fsencode(path).decode("utf-8")
        is_file = path.exists() and not path.is_dir()
    except (OSError, ValueError) as error:
        raise PlanError(f"{plain_line(str(path))!r} is not the name of a folder") from error
    if is_file:
        raise PlanError(f"{path} is not a folder, so no report can be written into it")


def selected(globs: tuple[str, ...]) -> tuple[Check, ...]:
    """Return the checks whose id matches one of the patterns, or all checks if there are no patterns.

    Raises PlanError for a pattern that matches nothing.
    """
    checks = all_checks()
    for glob in globs:
        if not any(fnmatchcase(check.id, glob) for check in checks):
            meant = suggestion(glob, [check.id for check in checks])
            raise PlanError(f"no check matches {glob!r}{meant or '; see `refgrad list checks`'}")
    return tuple(check for check in checks if not globs or any(fnmatchcase(check.id, glob) for glob in globs))
