"""The second table of the kill matrix: which broken lives of graphs the suite sees, after how many examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import mean, median

from refgrad.grading.judging.verdict import Verdict
from tests.faulty_engines.remembering import remembered_scenarios
from tests.faulty_engines.stateful.stateful_fault import StatefulFault
from tests.faulty_engines.stateful.stateful_faults import STATEFUL_FAULTS
from tests.faulty_engines.stateful.stateful_verdicts import STANDARD, broken_behaviours, stateful_verdict, step_count

HEAD = """\
## Lifecycles

A `gradcheck` differentiates one function at one point and looks at nothing that leaves gather: but for the few that
mix up the cotangents of a single backward, it cannot express any of these.

{count} rules of the life of a graph, each taken out of the reference engine, which then has to fail `lifecycles/random`
within the {examples} lifecycles of the {profile} profile. *Examples* counts lifecycles until one failed (median
{median:g}, at most {most}), *steps* the length of what it shrank to (mean {mean:.1f}, at most {longest}); the last
column counts the behaviours that fail as well, by chapter.

| An engine that … | modelled on | examples | steps | behaviours that fail, too |
|---|---|---:|---:|---|
"""


def stateful_table() -> Iterator[str]:
    """Yield the lines of the table, its head first."""
    with remembered_scenarios():
        yield from lines({fault: stateful_verdict(fault) for fault in STATEFUL_FAULTS})


def lines(verdicts: Mapping[StatefulFault, Verdict]) -> Iterator[str]:
    """Yield the head and the line of each fault, given the verdicts on lifecycles."""
    examples = [verdict.examples for verdict in verdicts.values()]
    steps = [step_count(verdict) for verdict in verdicts.values()]
    yield HEAD.format(
        count=len(verdicts),
        examples=STANDARD.effort["graphs"],
        profile=STANDARD.profile,
        median=median(examples),
        most=max(examples),
        mean=mean(steps),
        longest=max(steps),
    )
    yield from (stateful_row(fault, verdict) for fault, verdict in verdicts.items())


def stateful_row(fault: StatefulFault, verdict: Verdict) -> str:
    """Return the line of one fault."""
    behaviours = ", ".join(f"{chapter} {count}" for chapter, count in broken_behaviours(fault).items())
    found = (str(verdict.examples), str(step_count(verdict))) if verdict.failed else ("**not found**", "")
    return f"| {' | '.join((fault.name, fault.source, *found, behaviours))} |\n"
