"""What became of engines from version to version: reports of what differs, and a page of what was mended and broke.

    python -m tests.report.runs.versions out reports/versions

``out/ENGINE/VERSION/`` holds the report of a version; ``.ci/grade_engines versions out`` makes all of them. One version
in several environments is told apart by a local version, ``1.5+numpy.1.26``. What is written keeps the verdicts that
are not the same in all versions, and the summary of all. The folder itself may be given twice: its page is then written
again.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from packaging.version import Version

from refgrad.documents import read_text
from refgrad.grading.judging.verdict import Verdict
from refgrad.report.comparison import Difference, Stage, histories
from refgrad.report.document import Report, write_report
from refgrad.report.pages import Graded, markdown_templates, read_folder

PAGE = "README.md"


@dataclass(frozen=True)
class Step:
    """A version of an engine, by the ``name`` of its folder, beside the one before, if there is one."""

    name: str
    environment: str
    stage: Stage
    before: Graded | None

    def of(self, kind: str) -> list[Difference]:
        """Return the checks that differ in one way."""
        return [change for change in self.stage.changes if change.kind == kind]

    def told(self, change: Difference) -> str:
        """Return what is wrong, in a sentence: before if that is mended, and now if that is broken."""
        report, verdict = (self.before, change.old) if change.kind == "fixed" else (self.stage.report, change.new)
        return "" if report is None or verdict is None else _sentence(report, verdict)

    @property
    def otherwise(self) -> Mapping[str, int]:
        """How often which verdict became which other one, without that being mended or broken."""
        ways = (change.outcomes for change in self.stage.changes if change.kind not in {"fixed", "broken"})
        return Counter(f"{before or 'not run'} → {after or 'not run'}" for before, after in ways)


@dataclass(frozen=True)
class Versions:
    """The versions of an engine, oldest first, each with its folder."""

    folders: Sequence[Path]

    @classmethod
    def of(cls, folder: Path) -> Versions:
        """Return the versions that lie in the folder of an engine."""
        found = (path for path in folder.iterdir() if path.is_dir())
        return cls(sorted(found, key=lambda path: Version(path.name)))

    @cached_property
    def stages(self) -> Sequence[Stage]:
        """The report of each, with what differs from the one before."""
        (stages,) = histories([read_folder(folder) for folder in self.folders]).values()
        return stages

    @property
    def engine(self) -> str:
        """What the engine is called."""
        return str(self.stages[0].report.engine["name"])

    def steps(self, environments: Path) -> list[Step]:
        """Return the versions as the page shows them; ``environments`` has the requirements of each in a folder."""
        before = [None, *(stage.report for stage in self.stages[:-1])]
        places = (environments / self.engine / folder.name / "requirements.txt" for folder in self.folders)
        told = [", ".join(read_text(path).replace("# ", "").splitlines()) for path in places]
        names = [folder.name for folder in self.folders]
        return [Step(*each) for each in zip(names, told, self.stages, before, strict=True)]

    def differing(self) -> list[Report]:
        """Return the reports without the verdicts that are the same in all of them."""
        changed = {change.either.id for stage in self.stages for change in stage.changes}
        return [_without_others(stage.report.document, changed) for stage in self.stages]


def _sentence(report: Graded, verdict: Verdict) -> str:
    return next(script.sentence for script in report.failures if script.verdict == verdict)


def _without_others(report: Report, kept: set[str]) -> Report:
    verdicts = tuple(verdict for verdict in report.verdicts if verdict.id in kept)
    return replace(report, complete=report.complete and verdicts == report.verdicts, verdicts=verdicts)


def engines_in(folder: Path) -> list[Versions]:
    """Return the versions of each engine of which the folder has any, by the names of the engines.

    Hidden folders are none: ``.ci/grade_engines`` keeps environments in one.
    """
    return [Versions.of(path) for path in sorted(folder.iterdir()) if path.is_dir() and path.name[0] != "."]


def page(engines: Sequence[Versions], environments: Path) -> str:
    """Return the page that says what was mended and what broke."""
    templates = markdown_templates()
    templates.filters["pairs"] = itertools.pairwise
    template = templates.from_string(read_text(Path(__file__).with_name("versions.md.jinja")))
    return template.render(engines={each.engine: each.steps(environments) for each in engines})


def write(engines: Sequence[Versions], target: Path) -> None:
    """Write the page, and the reports without what all versions have in common."""
    (target / PAGE).write_text(page(engines, target), encoding="utf-8")
    for each in engines:
        for folder, document in zip(each.folders, each.differing(), strict=True):
            write_report(target / each.engine / folder.name / f"{each.engine}.json", document)


if __name__ == "__main__":
    write(engines_in(Path(sys.argv[1])), Path(sys.argv[2]))
