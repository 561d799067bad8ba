"""Which checks fail in every one of several runs of an engine, and which only with some seeds.

    python -m tests.report.runs.stability seed0/torch.json seed1/torch.json seed2/torch.json > reports/stability.md

Runs of several engines may be given; each engine gets its row.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from refgrad.report.document import Report, ReportError, read_report


@dataclass(frozen=True, slots=True)
class Stability:
    """What runs of one engine with several seeds agree on.

    ``failing`` has for each check that failed in any run the seeds with which it did.
    """

    engine: str
    seeds: tuple[int, ...]
    failing: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, documents: Sequence[Report]) -> Stability:
        """Return that of some reports. Raises ReportError where they are not of one engine and profile."""
        (first, *others) = documents
        for other in others:
            if _title(other) != _title(first):
                raise ReportError(f"runs of {_title(first)} and of {_title(other)} cannot be compared")
        failing: defaultdict[str, list[int]] = defaultdict(list)
        for document in documents:
            for verdict in document.verdicts:
                if verdict.failed:
                    failing[verdict.id].append(document.seed)
        found = {check: tuple(sorted(seeds)) for check, seeds in sorted(failing.items())}
        return cls(_title(first), tuple(sorted(each.seed for each in documents)), found)

    @property
    def always(self) -> list[str]:
        """The checks that failed with every seed."""
        return [check for check, seeds in self.failing.items() if seeds == self.seeds]

    @property
    def sometimes(self) -> list[str]:
        """The checks that failed with some seeds only."""
        return [check for check, seeds in self.failing.items() if seeds != self.seeds]


def _title(report: Report) -> str:
    return f"{report.engine['name']} {report.engine['version']}, {report.profile}"


def page(found: Iterable[Stability]) -> str:
    """Return the page."""
    return "\n".join(_lines(list(found))) + "\n"


def _lines(found: Sequence[Stability]) -> Iterator[str]:
    yield "# What fails whatever the seed"
    yield ""
    yield "`python -m tests.report.runs.stability REPORT...` makes this page from reports with several seeds."
    yield ""
    yield "| engine and profile | seeds | failing with some seed | failing with every seed | share |"
    yield "|---|---|---:|---:|---:|"
    for each in found:
        union, always = len(each.failing), len(each.always)
        share = f"{always / union:.0%}" if union else "-"
        yield f"| {each.engine} | {', '.join(map(str, each.seeds))} | {union} | {always} | {share} |"
    for each in found:
        if each.sometimes:
            yield ""
            yield f"## {each.engine}: with some seeds only"
            yield ""
            yield from (f"- `{check}`: {', '.join(map(str, each.failing[check]))}" for check in each.sometimes)


def main(arguments: Sequence[str]) -> None:
    """Print the page of the reports whose files are given."""
    engines: defaultdict[str, list[Report]] = defaultdict(list)
    for path in arguments:
        document = read_report(Path(path))
        engines[document.engine["name"]].append(document)
    sys.stdout.write(page(map(Stability.of, engines.values())))


if __name__ == "__main__":
    main(sys.argv[1:])
