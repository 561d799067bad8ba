"""Do the finite-difference oracle and the certified one agree on generated scenarios? How often can one not tell?

    python -m tests.oracles.agreement --count 10000 > reports/agreement.md

Each scenario has one backward. Two intervals are compared for each entry of each leaf: the certified one and the
finite difference with its error bound. They disagree where they have no number in common. An entry is inconclusive
where one of the two is too wide to say anything; they must overlap all the same.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from refgrad.generation import Choices, Profile, random_scenario
from refgrad.oracles import Certified, CertifiedOracle
from refgrad.scenario import Constant, Scenario
from tests.oracles.cross_checks.finite_differences import Difference, finite_differences

Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

TELLING = 1e-6
"""An interval wider than this fraction of max(1, |truth|) says nothing."""

ULP = 2.0**-52
PAGE = """\
# Agreement of the oracles

The finite-difference oracle and the certified one on {count:,} generated scenarios (seeds {first} to {last}):
{disagree} disagree, {inconclusive} ({share:.1%}) have an inconclusive entry.{seeds}

| | {head} |
|---|---:|---:|
{rows}

An entry disagrees where the certified interval and the finite difference with its error bound have no number in
common. It is inconclusive where one of them is wider than {telling:.0e} of max(1, |truth|); distances are relative to
the same. On an edge the certified interval is the hull of the one-sided derivatives, and a stencil that reaches
across a kink has no finite error bound.

Made by `python -m tests.oracles.agreement --count 10000 > reports/agreement.md`; nothing in it depends on chance.
"""

DECADES = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the two oracles say of one scenario, entry by entry over all leaves that require grad.

    ``disagree``: the intervals have no number in common. ``open``: the certified interval is wide, as on a kink.
    ``unsure``: the finite difference's bound is wide. ``gap``: the distance of their midpoints over max(1, |truth|).
    """

    disagree: Booleans
    open: Booleans
    unsure: Booleans
    gap: Floats

    @property
    def conclusive(self) -> Booleans:
        """The entries of which both say something."""
        return ~self.open & ~self.unsure


def only_backward(scenario: Scenario) -> tuple[tuple[str, Constant | None], ...]:
    """Return the contributions of the scenario's one backward."""
    ((_, backward),) = scenario.backwards
    return ((backward.output, backward.seed),)


def compare(scenario: Scenario) -> Comparison:
    """Ask both oracles for the gradient of every leaf after the scenario's one backward."""
    contributions = only_backward(scenario)
    differences = finite_differences(scenario, contributions)
    oracle = CertifiedOracle(scenario)
    parts = [_compared(oracle.narrowest_gradient(name, contributions), d) for name, d in differences.items()]
    return Comparison(*(np.concatenate([getattr(part, name) for part in parts]) for name in Comparison.__slots__))


def _compared(certified: Certified, difference: Difference) -> Comparison:
    truth, radius = certified.midpoint.ravel(), certified.radius.ravel()
    value, error = difference.value.ravel(), difference.error.ravel()
    size = np.maximum(1.0, np.abs(truth))
    with np.errstate(invalid="ignore"):
        distance = np.abs(value - truth)
        return Comparison(
            disagree=distance > radius + error + ULP * np.abs(truth),
            open=~(radius <= TELLING * size),
            unsure=~(error <= TELLING * size),
            gap=distance / size,
        )


def random_profile(seed: int) -> Profile:
    """Return a profile with one backward: short or long, of any rank, now and then with operators on their edges."""
    choices = Choices(seed)
    return Profile(
        length=choices.choice([(1, 3), (1, 20), (10, 40)]),
        max_rank=choices.integer(0, 4),
        dimensions=choices.choice([(2, 3, 1), (1, 2, 3, 4, 5)]),
        empty=choices.choice([0.0, 0.1]),
        seeds=choices.boolean(0.8),
        max_backwards=1,
        edges=0.5 if choices.boolean(0.25) else 0.0,
        constants=choices.choice([0.0, 0.3]),
        dtype="float32" if choices.boolean(0.3) else "float64",
    )


@dataclass(slots=True)
class Summary:
    """The counts over many scenarios, those with operators on their edges apart."""

    scenarios: Counter[str] = field(default_factory=Counter)
    entries: Counter[str] = field(default_factory=Counter)
    gaps: Counter[float] = field(default_factory=Counter)
    disagreeing: list[int] = field(default_factory=list)

    def add(self, seed: int, comparison: Comparison) -> None:
        """Count one scenario."""
        self.scenarios["all"] += 1
        self.entries["all"] += comparison.gap.size
        for reason in ("open", "unsure"):
            found = int(getattr(comparison, reason).sum())
            self.entries[reason] += found
            self.scenarios[reason] += found > 0
        self.scenarios["inconclusive"] += not comparison.conclusive.all()
        self.entries["inconclusive"] += int((~comparison.conclusive).sum())
        if comparison.disagree.any():
            self.disagreeing.append(seed)
        gaps = comparison.gap[comparison.conclusive]
        for decade in DECADES:
            self.gaps[decade] += int((gaps <= decade).sum())


def summaries(count: int, first: int = 0) -> dict[str, Summary]:
    """Compare the scenarios of ``count`` seeds, beginning with ``first``."""
    result = {"no operator on an edge": Summary(), "operators on their edges": Summary()}
    smooth, edged = result.values()
    for seed, scenario, profile in _scenarios(count, first):
        (edged if profile.edges else smooth).add(seed, compare(scenario))
    return result


def _scenarios(count: int, first: int) -> Iterator[tuple[int, Scenario, Profile]]:
    for seed in range(first, first + count):
        profile = random_profile(seed)
        yield seed, random_scenario(seed, profile), profile


def page(result: dict[str, Summary], count: int, first: int) -> str:
    """Return the Markdown page of a run."""
    disagreeing = sorted(seed for summary in result.values() for seed in summary.disagreeing)
    inconclusive = sum(summary.scenarios["inconclusive"] for summary in result.values())
    rows = zip(*(_column(summary) for summary in result.values()), strict=True)
    return PAGE.format(
        count=count,
        first=first,
        last=first + count - 1,
        disagree=len(disagreeing),
        seeds=f" Seeds that disagree: {disagreeing}." if disagreeing else "",
        inconclusive=inconclusive,
        share=inconclusive / count,
        head=" | ".join(result),
        rows="\n".join(f"| {row[0][0]} | {' | '.join(f'{number:,}' for _, number in row)} |" for row in rows),
        telling=TELLING,
    )


def _column(summary: Summary) -> list[tuple[str, int]]:
    return [
        ("scenarios", summary.scenarios["all"]),
        ("entries of gradients", summary.entries["all"]),
        ("**scenarios that disagree**", len(summary.disagreeing)),
        ("scenarios with an inconclusive entry", summary.scenarios["inconclusive"]),
        ("… the certified interval is wide", summary.scenarios["open"]),
        ("… the finite difference is unsure", summary.scenarios["unsure"]),
        ("inconclusive entries", summary.entries["inconclusive"]),
        *((f"conclusive entries at most {decade:.0e} apart", summary.gaps[decade]) for decade in DECADES),
    ]


def main() -> None:
    """Print the page; fail where the oracles disagree."""
    parser = argparse.ArgumentParser(description="Compare the finite-difference oracle with the certified one.")
    parser.add_argument("--count", type=int, default=10_000, help="how many scenarios")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    result = summaries(options.count, options.first)
    sys.stdout.write(page(result, options.count, options.first))
    sys.exit(any(summary.disagreeing for summary in result.values()))


if __name__ == "__main__":
    main()
