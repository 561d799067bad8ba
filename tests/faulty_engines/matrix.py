"""Which faults does the suite catch, by which checks, after how many examples? A Markdown page.

``python -m tests.faulty_engines.matrix > reports/kill-matrix.md``
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator

from refgrad.harness import Verdict
from refgrad.harness.settings import EFFORTS
from tests.faulty_engines.fault import Fault, is_generated, step_count, verdicts
from tests.faulty_engines.faults import FAULTS
from tests.faulty_engines.remembering import remembered_scenarios

PROFILE = "standard"

HEAD = """\
# Kill matrix

{count} engines, each broken in one way after a real bug, graded at the {profile} profile ({per_operator} examples an
operator, {per_graph_check} a kind of graph). The suite has to fail exactly the checks that each of them breaks; a test
says that it does. *Examples* counts scenarios that were drawn until the first generated check failed (none where only
behaviours fail, whose scenarios are written down), *steps* the length of the smallest scenario that is shown.

| An engine that … | modelled on | fails | examples | steps |
|---|---|---|---:|---:|
"""


def main() -> None:
    """Write the page to standard output."""
    effort = EFFORTS[PROFILE]
    sys.stdout.write(
        HEAD.format(
            count=len(FAULTS),
            profile=PROFILE,
            per_operator=effort.per_operator,
            per_graph_check=effort.per_graph_check,
        )
    )
    with remembered_scenarios():
        for fault in FAULTS:
            sys.stdout.write(row(fault, [v for v in verdicts(fault, PROFILE).values() if v.failed]))
            sys.stdout.flush()


def row(fault: Fault, failed: list[Verdict]) -> str:
    """Return the line of one fault."""
    generated = [verdict.examples for verdict in failed if is_generated(verdict)]
    cells = (
        fault.name,
        fault.source,
        "; ".join(by_chapter(verdict.id for verdict in failed)) or "**nothing**",
        str(min(generated, default="")),
        str(min(map(step_count, failed), default="")),
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
