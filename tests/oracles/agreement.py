"""Do the finite-difference oracle and the certified one agree on generated scenarios? How often can one not tell?

    python -m tests.oracles.agreement --count 10000 > reports/agreement.md

Each scenario has one backward. Two intervals are compared for each entry of each leaf: the certified one and the finite
difference with its error bound. They disagree where they have no number in common. An entry is inconclusive where one of
the two is too wide to say anything; it must overlap all the same.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import numpy as np
import numpy.typing as npt

from refgrad.oracles import Certified, CertifiedOracle, Difference, finite_differences
from refgrad.scenario import Constant, Scenario
from refgrad.strategies import Profile, random_scenario

Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

TELLING = 1e-6
"""An interval wider than this fraction of max(1, |truth|) says nothing."""

ULP = 2.0**-52
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
    random = Random(seed)
    return Profile(
        length=random.choice([(1, 3), (1, 20), (10, 40)]),
        max_rank=random.choice([0, 1, 2, 3, 4]),
        dimensions=random.choice([(2, 3, 1), (1, 2, 3, 4, 5)]),
        empty=random.choice([0.0, 0.1]),
        seeds=random.random() < 0.8,
        max_backwards=1,
        edges=random.choice([0.0, 0.0, 0.0, 0.0, 0.2]),
        constants=random.choice([0.0, 0.3]),
        dtype=random.choice(["float64", "float64", "float32"]),
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
    rows = [
        ("scenarios", lambda s: s.scenarios["all"]),
        ("entries of gradients", lambda s: s.entries["all"]),
        ("**scenarios that disagree**", lambda s: len(s.disagreeing)),
        ("scenarios with an inconclusive entry", lambda s: s.scenarios["inconclusive"]),
        ("… the certified interval is wide", lambda s: s.scenarios["open"]),
        ("… the finite difference is unsure", lambda s: s.scenarios["unsure"]),
        ("inconclusive entries", lambda s: s.entries["inconclusive"]),
        *((f"conclusive entries at most {d:.0e} apart", lambda s, d=d: s.gaps[d]) for d in DECADES),
    ]
    table = [f"| {name} | {' | '.join(f'{read(s):,}' for s in result.values())} |" for name, read in rows]
    disagreeing = sorted(seed for summary in result.values() for seed in summary.disagreeing)
    inconclusive = sum(summary.scenarios["inconclusive"] for summary in result.values())
    return "\n".join([
        "# Agreement of the oracles",
        "",
        f"The finite-difference oracle and the certified one on {count:,} generated scenarios (seeds {first} to"
        f" {first + count - 1}):",
        f"{len(disagreeing)} disagree, {inconclusive} ({inconclusive / count:.1%}) have an inconclusive entry."
        f"{f' Seeds that disagree: {disagreeing}.' if disagreeing else ''}",
        "",
        f"| | {' | '.join(result)} |",
        f"|---|{'---:|' * len(result)}",
        *table,
        "",
        "An entry disagrees where the certified interval and the finite difference with its error bound have no number in",
        f"common. It is inconclusive where one of them is wider than {TELLING:.0e} of max(1, |truth|); distances are",
        "relative to the same. On an edge, the certified interval is the hull of the one-sided derivatives, and a stencil",
        "that reaches across a kink has no finite error bound.",
        "",
        "Made by `python -m tests.oracles.agreement --count 10000 > reports/agreement.md`, which is deterministic.",
    ])


def main() -> None:
    """Print the page; fail where the oracles disagree."""
    parser = argparse.ArgumentParser(description="Compare the finite-difference oracle with the certified one.")
    parser.add_argument("--count", type=int, default=10_000, help="how many scenarios")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    result = summaries(options.count, options.first)
    sys.stdout.write(page(result, options.count, options.first) + "\n")
    sys.exit(any(summary.disagreeing for summary in result.values()))


if __name__ == "__main__":
    main()
