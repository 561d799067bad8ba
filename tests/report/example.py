"""A small report: one engine and nearly every outcome, for the tests of documents and pages."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from refgrad.facts import Entry, Evidence, Subject
from refgrad.grading.judging.verdict import Level, Outcome, Verdict
from refgrad.grading.settings import Settings
from refgrad.native.adapter import FunctionalAdapter
from refgrad.native.statements import Call, Code, Name, Show, Statement
from refgrad.report.document import Report, build_report, report_text
from refgrad.scenario import parse

SCENARIO = parse("x = leaf float64[] {0x1.8p+0} requires_grad\na = exp x\nbackward a\nread grad x\n")
SILENT = parse("x = leaf float64[] {0x1.8p+0} requires_grad\na = exp x\nbackward a\nbackward a\n")
PROGRAM = "import numpy as np\n\nprint(np.array([0.1, 1 / 3]))\n"


def reading(code: str, *shown: tuple[str, str]) -> tuple[Statement, ...]:
    """Return a program that ends with reads: of what is named first, by the variable that is named second."""
    return (Code(code), *(Show(what, Call("{x}", {"x": Name(name)})) for what, name in shown))


def observed(number: str) -> Evidence:
    """Return the evidence that a gradient is this number."""
    return Evidence(entry(number), 4)


def entry(number: str) -> Entry:
    """Return the fact that a gradient is this number, in place of 4.48."""
    return Entry(
        subject=Subject("gradient", "x"),
        index=(),
        observed=number,
        lower="4.48",
        upper="4.48",
        relative_error="nan",
        budgets="inf",
        ulps="nan",
    )


def verdict(name: str, outcome: Outcome, message: str = "", *, level: Level = "MUST", shown: bool = False) -> Verdict:
    """Return a verdict on the check ``CHAPTER/NAME``, with a scenario and a program if it is to be ``shown``."""
    chapter, _, rest = name.partition("/")
    return Verdict(
        id=name,
        chapter=chapter,
        operator=rest if chapter in {"operators", "edges"} else "",
        level=level,
        verdict=outcome,
        statement=f"{rest} is as it must be.",
        message=message,
        scenario=SCENARIO.text if shown else "",
        scenario_id=SCENARIO.id if shown else "",
        reproduction=(Code(PROGRAM),) if shown else (),
        examples=10,
        evidence=observed("0.1") if shown else None,
    )


VERDICTS = (
    verdict("leaves/unused", "passed"),
    verdict("leaves/frozen", "crashed", "the engine's process died"),
    verdict("seeds/shape", "unsupported", "the engine has no seed"),
    verdict("seeds/sign", "inaccurate", "the gradient of x is 1.0", level="SHOULD"),
    verdict(
        "operators/exp", "wrong", "step 4, `read grad x`: the gradient of x is 0.1, but the truth is 4.48", shown=True
    ),
    verdict("operators/relu", "passed", "1 inconclusive"),
    verdict("operators/sort", "unsupported", "the engine has no sort"),
    verdict("edges/relu", "convention", "a legal subgradient was chosen: 0.0 of [0, 1] | <any>"),
    verdict("edges/sort", "unsupported", "the engine has no sort"),
    verdict("graphs/one_backward", "inconclusive", "operators/exp fails already"),
)
ADAPTER = FunctionalAdapter(name="example", setup="", leaf="{array}", vjp="vjp({function}, {primals})")


def example_report(*verdicts: Verdict, **engine: str) -> Report:
    """Return the report with these verdicts, as if it had been made by some version of Python and of refgrad."""
    rows = {row.id: row for row in VERDICTS}
    report = build_report(ADAPTER, Settings("smoke", 3), rows, [*rows, "graphs/not_run"])
    described = {**report.engine, "python": "3.0", "platform": "System machine", **engine}
    return replace(report, engine=described, refgrad="0.0", verdicts=verdicts or report.verdicts)


def example_document() -> dict[str, Any]:
    """Return the report as its file holds it."""
    document: dict[str, Any] = json.loads(report_text(example_report()))
    return document


def write_example(folder: Path, **changes: object) -> Path:
    """Write the report, with some members changed, into a folder."""
    path = folder / "example.json"
    path.write_text(json.dumps(example_document() | changes), encoding="utf-8")
    return path
