"""``refgrad replay``: run one check again, or the scenario that a report has for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import Final

import click

from refgrad.cli.failure import Failure, Status, told_in_one_line
from refgrad.cli.run import run_scenario
from refgrad.errors import suggestion
from refgrad.grading.checks.families import check_named
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.text import plain_text
from refgrad.pytest_plugin.conformance import EngineSession
from refgrad.pytest_plugin.options import ITEM, GradeOptions
from refgrad.pytest_plugin.plan import Plan
from refgrad.report.document import read_report
from refgrad.report.narration import failure_text

MOST: Final = 20_000
"""Largest number of characters of a verdict that are printed."""


def replay_check(name: str, options: GradeOptions) -> Status:
    """Run one check on an engine, print its verdict, and return the status."""
    with told_in_one_line():
        check = check_named(name.removeprefix(ITEM))
        plan = Plan.of(replace(options, select=(escape(check.id),)))
        session = EngineSession(plan, {})
        try:
            verdict = session.verdict(check)
        finally:
            session.end()
    click.echo(f"{plan.title}\n{plain_text(failure_text(plan.script(verdict)), MOST)}")
    return Status.FAILED if verdict.failed else Status.PASSED


def replay_report(name: str, engine: str, report: Path, python: str | None, *, program: bool) -> Status:
    """Run the scenario of the check or scenario id ``name`` in a report, or the check if the report has no scenario."""
    document = read_report(report)
    found = _found(name.removeprefix(ITEM), document.verdicts, report)
    if not found.scenario:
        return replay_check(found.id, GradeOptions(engine, document.profile, document.seed, python=python))
    click.echo(f"{found.id}, scenario {found.scenario_id}:")
    return run_scenario(found.scenario, engine, python, program=program)


def _found(name: str, verdicts: Sequence[Verdict], report: Path) -> Verdict:
    for verdict in verdicts:
        if name in {verdict.id, verdict.scenario_id}:
            return verdict
    meant = suggestion(name, [verdict.id for verdict in verdicts])
    raise Failure(f"{report} has no check and no scenario {name!r}{meant}", Status.WRONG_USAGE)
