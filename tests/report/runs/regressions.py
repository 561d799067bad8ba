"""Adds the scenarios of reports in which engines failed to those that every engine meets.

    python -m tests.report.runs.regressions reports/torch.json reports/jax.json

Those that stand already are left as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from refgrad.documents import read_toml
from refgrad.grading.checks.check import FOLDER
from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.verdict import Verdict
from refgrad.report.document import Report, read_report
from refgrad.specification import specs_directory


@dataclass(frozen=True, slots=True)
class Regression:
    """A scenario, the check that it failed, and the engine that failed."""

    check: str
    scenario: str
    found: str


def regressions_in(report: Report) -> Iterator[Regression]:
    """Yield the scenarios of a report that failed a check which draws its scenarios."""
    drawn = {check.id for check in all_checks() if check.draws}
    found = f"{report.engine['name']} {report.engine['version']}"
    for verdict in report.verdicts:
        if verdict.id in drawn:
            yield from (Regression(verdict.id, text, found) for text in _failing(verdict))


def _failing(verdict: Verdict) -> Iterator[str]:
    if verdict.failed and verdict.scenario:
        yield verdict.scenario
    yield from (each.scenario for each in verdict.further)


def read(folder: Path) -> list[Regression]:
    """Return what the files of a folder hold."""
    return [
        Regression(f"{path.stem}/{name}", row["scenario"], row["found"])
        for path in sorted(folder.glob("*.toml"))
        for name, rows in read_toml(path, "regressions").items()
        for row in rows
    ]


def write(folder: Path, regressions: Iterable[Regression]) -> None:
    """Write one file a chapter, with the checks in the order of their names; a scenario of a check stands once."""
    folder.mkdir(parents=True, exist_ok=True)
    once: dict[tuple[str, str], Regression] = {}
    for each in regressions:
        once.setdefault((each.check, each.scenario), each)
    chapters: dict[str, list[Regression]] = {}
    for each in once.values():
        chapters.setdefault(each.check.partition("/")[0], []).append(each)
    for chapter, rows in chapters.items():
        rows.sort(key=lambda each: each.check)
        (folder / f"{chapter}.toml").write_text("\n".join(map(_table, rows)), encoding="utf-8")


def _table(regression: Regression) -> str:
    name = regression.check.partition("/")[2]
    return f"[[{name}]]\nfound = \"{regression.found}\"\nscenario = '''\n{regression.scenario}'''\n"


def main(arguments: Sequence[str]) -> None:
    """Add the scenarios of reports, whose files are given by name."""
    folder = specs_directory() / FOLDER
    added = [each for path in arguments for each in regressions_in(read_report(Path(path)))]
    write(folder, [*read(folder), *added])


if __name__ == "__main__":
    main(sys.argv[1:])
