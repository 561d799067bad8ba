"""The page of faults: which checks catch them, after how many examples, and what other checkers say.

``python -m tests.faulty_engines.matrix > reports/kill-matrix.md`` writes a Markdown page.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import EFFORTS
from tests.faulty_engines.derived.table import derived_table
from tests.faulty_engines.fault import GRAPHS, Fault, is_generated, step_count, verdicts
from tests.faulty_engines.faults import FAULTS
from tests.faulty_engines.gradchecked import Answer, answers, protocol
from tests.faulty_engines.planted.table import planted_table
from tests.faulty_engines.remembering import remembered_scenarios
from tests.faulty_engines.stateful.stateful_table import stateful_table

PROFILE = "standard"

HEAD = """\
# Kill matrix

**refgrad {killed} of {count}, gradcheck {first}, gradgradcheck {second} (one of the two {either}).**

{count} engines, each broken in one way after a real bug or of our own invention, are graded at the {profile} profile
({per_operator} examples an operator, {per_graph_check} a kind of graph) by the checks that they break, and at the smoke
profile by all others but those of scale. The suite has to fail exactly the checks that each of them breaks; a test says
that it does. *Examples* counts scenarios that were drawn until the first generated check failed (none where only
behaviours fail, whose scenarios are written down), *steps* the length of the smallest scenario that is shown.

{protocol}
| An engine that … | modelled on | fails | examples | steps | gradcheck | gradgradcheck |
|---|---|---|---:|---:|---|---|
"""

FURTHER_TABLES: tuple[Callable[[], Iterable[str]], ...] = (stateful_table, derived_table, planted_table)
"""What follows: the lines of a table for each kind of fault that is no fault of a tape."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """What was found of one fault."""

    fault: Fault
    failed: tuple[Verdict, ...]
    answers: tuple[Answer, Answer]


def main() -> None:
    """Write the page to standard output, and how far it is to standard error."""
    rows = []
    with remembered_scenarios():
        for fault in FAULTS:
            rows.append(Row(fault, failures(fault), answers(fault)))
            sys.stderr.write(line(rows[-1]))
            sys.stderr.flush()
    sys.stdout.write(head(rows) + "".join(map(line, rows)))
    for table in FURTHER_TABLES:
        sys.stdout.writelines(("\n", *table()))


def failures(fault: Fault) -> tuple[Verdict, ...]:
    """Return the verdicts of the checks that fail, of those that are broken at the profile of the page.

    What a brief check of an operator has overlooked, random graphs may have met: that is said once.
    """
    brief, due = verdicts(fault, "smoke"), verdicts(fault, PROFILE, only=fault.breaks)
    overlooked = any(verdict.failed and not brief[name].failed for name, verdict in due.items())
    told = GRAPHS - fault.breaks if overlooked else frozenset()
    return tuple(v for name, v in (brief | due).items() if v.failed and name not in told)


def head(rows: list[Row]) -> str:
    """Return the page's head, with the totals."""
    effort = EFFORTS[PROFILE]
    return HEAD.format(
        killed=sum(bool(row.failed) for row in rows),
        count=len(rows),
        first=sum(row.answers[0] == "yes" for row in rows),
        second=sum(row.answers[1] == "yes" for row in rows),
        either=sum("yes" in row.answers for row in rows),
        profile=PROFILE,
        per_operator=effort["operators"],
        per_graph_check=effort["graphs"],
        protocol=protocol(),
    )


def line(row: Row) -> str:
    """Return the line of one fault."""
    generated = [verdict.examples for verdict in row.failed if is_generated(verdict)]
    cells = (
        row.fault.name,
        row.fault.source,
        "; ".join(by_chapter(verdict.id for verdict in row.failed)) or "**nothing**",
        str(min(generated, default="")),
        str(min(map(step_count, row.failed), default="")),
        *row.answers,
    )
    return f"| {' | '.join(cells)} |\n"


def by_chapter(ids: Iterable[str]) -> Iterator[str]:
    """Yield ``chapter: name, name`` for every chapter."""
    chapters: dict[str, list[str]] = defaultdict(list)
    for name in ids:
        chapter, _, rest = name.partition("/")
        chapters[chapter].append(rest)
    for chapter, names in chapters.items():
        yield f"{chapter}: {', '.join(f'`{name}`' for name in names)}"


if __name__ == "__main__":
    main()
