"""The page of the cross-checks: how the oracles agree, pair by pair, on generated scenarios.

python -m tests.oracles.cross_checks.page --count 2000 > reports/oracle-cross-checks.md
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final

from refgrad.generation import Profile, edge_scenario, operator_scenario, random_scenario
from refgrad.operators import operator_table
from refgrad.scenario import Scenario
from tests.oracles.cross_checks.cross_checks import ORACLES, TELLING, CrossCheck, cross_check

PAGE: Final = """\
# Cross-checks of the oracles

{count:,} generated scenarios (seeds {first} to {last}): one operator, one operator on an edge, and graphs, in turn.
**{disagree} disagree.**{seeds}

| oracle | scenarios it spoke of | refused |
|---|---:|---:|
{oracles}

| pair | scenarios | entries compared | agree | inconclusive | **disagree** | largest gap |
|---|---:|---:|---:|---:|---:|---:|
{pairs}

Two oracles disagree on an entry where their intervals have no number in common. An entry is inconclusive where one of
the intervals is wider than {telling:.0e} of max(1, |value|), as at a kink; the gap is the largest distance between
values of entries that both can tell, relative to the same. The complex step refuses operators that are not analytic,
SymPy whatever is not small, and both, kinks. A disagreement is a fault of this suite, never of an engine.

Made by `python -m tests.oracles.cross_checks.page --count {count} > reports/oracle-cross-checks.md`; no chance is
involved.
"""

SMALL: Final = Profile(max_backwards=1, length=(1, 6), dimensions=(2, 1, 3, 2), max_rank=2)
LARGE: Final = Profile(max_backwards=2, length=(1, 20))


@dataclass(slots=True)
class Tally:
    """What pairs of oracles showed over many scenarios."""

    spoke: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    counts: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    gaps: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    disagreeing: list[int] = field(default_factory=list)

    def add(self, seed: int, found: CrossCheck) -> None:
        """Count one scenario."""
        for name, statement in found.statements.items():
            (self.refused if statement.refusal else self.spoke)[name] += 1
        for pair, agreement in found.pairs.items():
            self.counts[pair]["scenarios"] += 1
            for word in ("compared", "agree", "inconclusive", "disagree"):
                self.counts[pair][word] += getattr(agreement, word)
            self.gaps[pair] = max(self.gaps[pair], agreement.gap)
        if found.disagree:
            self.disagreeing.append(seed)


def scenario_of(seed: int) -> Scenario:
    """Return a scenario about one operator, one on an edge, a small graph or a larger one, in turn."""
    names = tuple(operator_table())
    edged = tuple(name for name, operator in operator_table().items() if operator.edges)
    turn, rest = seed % 4, seed // 4
    if turn == 0:
        return operator_scenario(seed, names[rest % len(names)], Profile(max_backwards=1))
    if turn == 1:
        return edge_scenario(seed, edged[rest % len(edged)], Profile(max_backwards=1, edges=1.0))
    return random_scenario(seed, SMALL if turn == 2 else LARGE)


def tally(count: int, first: int = 0) -> Tally:
    """Ask the oracles about the scenarios of ``count`` seeds, beginning with ``first``."""
    result = Tally()
    for seed in range(first, first + count):
        result.add(seed, cross_check(scenario_of(seed)))
    return result


def page(result: Tally, count: int, first: int) -> str:
    """Return the Markdown page of a run."""
    return PAGE.format(
        count=count,
        first=first,
        last=first + count - 1,
        disagree=len(result.disagreeing) or "None",
        seeds=f" Seeds that disagree: {result.disagreeing}." if result.disagreeing else "",
        oracles="\n".join(f"| {n} | {result.spoke[n]:,} | {result.refused[n]:,} |" for n in ORACLES),
        pairs="\n".join(_row(pair, counts, result.gaps[pair]) for pair, counts in result.counts.items()),
        telling=TELLING,
    )


def _row(pair: tuple[str, str], counts: Counter[str], gap: float) -> str:
    numbers = (counts[word] for word in ("scenarios", "compared", "agree", "inconclusive", "disagree"))
    return f"| {' / '.join(pair)} | {' | '.join(f'{number:,}' for number in numbers)} | {gap:.1e} |"


def main() -> None:
    """Print the page; fail where oracles disagree."""
    parser = argparse.ArgumentParser(description="Hold the oracles against each other, pair by pair.")
    parser.add_argument("--count", type=int, default=2_000, help="how many scenarios")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    result = tally(options.count, options.first)
    sys.stdout.write(page(result, options.count, options.first))
    sys.exit(bool(result.disagreeing))


if __name__ == "__main__":
    main()
