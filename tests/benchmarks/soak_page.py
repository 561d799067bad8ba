"""How much of the rounding budget do engines use, were any faulted, and how small an error is caught?

    python -m tests.benchmarks.soak_page soak.jsonl > reports/rounding-budget.md

The lines are those of `tests.benchmarks.soak`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from refgrad.generation import shrink
from refgrad.grading.judging.examination import examine
from refgrad.native.adapter import engine_version, find_adapter
from refgrad.oracles.judgement import ALLOWANCE
from refgrad.scenario import parse
from tests.benchmarks.graded_graphs import engine
from tests.benchmarks.soak import BINS_PER_OCTAVE, graphs, read_lines

PLACE: Final = re.compile(r"\b[ax][0-9]+\b")
"""Names that scenarios give to leaves and results."""

QUANTILES: Final = (0.5, 0.99, 0.9999)

PAGE: Final = """\
# The rounding budget, measured

{total:,} graphs were graded, each engine counted:
{versions}.
A budget is how far rounding alone can carry an entry; an entry passes within {allowance:g} times its budget (plus one
unit roundoff of its own size).

## Does it fault engines that are right?

{verdict}

| engine | graphs | passed | convention | inconclusive | failed |
|---|---:|---:|---:|---:|---:|
{engines}

{findings}

Left out, since it is known to be wrong and `refgrad grade` shows it:

{excluded}

## How much of it do engines use?

The largest error of a gradient's entry over its budget, graph by graph. A ratio above {allowance:g} would fail.

| engine | graphs | {quantiles} | largest | its seed |
|---|{columns}---:|---:|---:|
{ratios}

| kind of graph | graphs | {quantiles} | largest | its seed |
|---|{columns}---:|---:|---:|
{conditions}

Quantiles are upper ends of bins 4 % wide.

## How small an error is caught?

A relative error put into one random entry of a gradient of the reference engine, in {injected:,} graphs of the same
kinds: how often the verdict is `wrong` or `inaccurate`.

| {exponents} |
|{rule}|
| {rates} |

{missed}

Made by `python -m tests.benchmarks.soak_page soak.jsonl > reports/rounding-budget.md` from the lines that
`python -m tests.benchmarks.soak` appends; every graph follows from its seed and the table of operators, which had
{rows} rows, and `--show SEED` shows one.
"""


@dataclass(slots=True)
class Totals:
    """The lines of a run, added up by engine and by kind of graph."""

    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    ratios: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    largest: dict[str, tuple[float, int]] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    injected: int = 0
    caught: Counter[int] = field(default_factory=Counter)
    graphs: int = 0

    def add(self, line: dict[str, Any]) -> None:
        """Add one finished block."""
        self.graphs += graphs(line)
        for key, counter in line["outcomes"].items():
            for part in key.split("|"):
                self.outcomes[part].update(counter)
        for key, bins in line["ratios"].items():
            for part in key.split("|"):
                self.ratios[part].update({int(number): count for number, count in bins.items()})
                self.largest[part] = max(self.largest.get(part, (0.0, 0)), tuple(line["largest"][key]))
        self.findings += line["findings"]
        self.injected += line["injected"]
        self.caught.update({int(exponent): count for exponent, count in line["caught"].items()})


def quantile(bins: Counter[int], share: float) -> float:
    """The upper end of the bin in which this share of all ratios is reached."""
    needed = share * sum(bins.values())
    seen = 0
    for number in sorted(bins):
        seen += bins[number]
        if seen >= needed:
            break
    return float(2.0 ** (number / BINS_PER_OCTAVE)) if bins else 0.0


def page(lines: list[dict[str, Any]], detection: list[dict[str, Any]]) -> str:
    """Return the Markdown page of a run, and of one in which errors were injected (it may be the same)."""
    totals, injected = _totals(lines), _totals(detection)
    engines = tuple(lines[0]["engines"])
    conditions = [name for name in totals.outcomes if name not in engines]
    exponents = sorted(injected.caught, reverse=True)
    return PAGE.format(
        total=totals.graphs,
        rows=lines[0]["rows"],
        versions=", ".join(f"{name} {engine_version(find_adapter(name))}" for name in engines),
        allowance=ALLOWANCE,
        verdict=_verdict(totals),
        engines="\n".join(_outcomes(name, totals.outcomes[name]) for name in engines),
        findings=_findings(totals.findings),
        excluded="\n".join(
            f"- {name}: {_reasons(reasons)}" for name, reasons in lines[0]["left_out"].items() if reasons
        ),
        quantiles=" | ".join(f"{share:.4g} quantile" for share in QUANTILES),
        columns="---:|" * (1 + len(QUANTILES)),
        ratios="\n".join(_ratios(name, totals) for name in engines),
        conditions="\n".join(_ratios(name, totals) for name in conditions),
        injected=injected.injected,
        exponents=" | ".join(f"1e{exponent}" for exponent in exponents),
        rule="---:|" * (len(exponents) - 1) + "---:",
        rates=" | ".join(f"{injected.caught[exponent] / injected.injected:.4f}" for exponent in exponents),
        missed=_missed(injected, exponents),
    )


def _totals(lines: list[dict[str, Any]]) -> Totals:
    totals = Totals()
    for line in lines:
        totals.add(line)
    return totals


def _verdict(totals: Totals) -> str:
    failed = len(totals.findings)
    if not failed:
        return f"No: of {totals.graphs:,} graphs none failed. At 95 % fewer than {3 / totals.graphs:.1e} of graphs do."
    return f"{failed} of {totals.graphs:,} graphs failed; each is shown below, shrunk, once for what it comes down to."


def _missed(totals: Totals, exponents: list[int]) -> str:
    missed = totals.injected - totals.caught[exponents[0]] if exponents else 0
    return (
        f"An error of 1e{exponents[0]} escaped {missed} times: where the entry is an interval at a kink, or where"
        "\nrounding alone explains as much, since terms larger by orders of magnitude cancel in it."
        if missed
        else "No large error escaped."
    )


def _outcomes(name: str, counter: Counter[str]) -> str:
    told = {"passed", "convention", "inconclusive"}
    failed = sum(count for outcome, count in counter.items() if outcome not in told)
    numbers = (sum(counter.values()), counter["passed"], counter["convention"], counter["inconclusive"], failed)
    return f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |"


def _ratios(name: str, totals: Totals) -> str:
    bins = totals.ratios[name]
    largest, seed = totals.largest.get(name, (0.0, 0))
    shares = " | ".join(f"{min(quantile(bins, share), largest):.3f}" for share in QUANTILES)
    return f"| {name} | {sum(bins.values()):,} | {shares} | {largest:.3f} | {seed} |"


def _reasons(operators: Any) -> str:
    return "; ".join(f"`{operator}` ({reason})" for operator, reason in operators.items())


def _findings(findings: list[dict[str, Any]]) -> str:
    """Show each finding by what it shrinks to; those that shrink to the same operators are shown once."""
    shown: dict[tuple[str, ...], tuple[str, list[int]]] = {}
    corrected: Counter[str] = Counter()
    for found in findings:
        scenario = parse(found["scenario"])
        graded = engine(found["engine"])
        now = examine(scenario, graded)
        if not now.failed:
            corrected[f"{now.outcome}: {PLACE.sub('…', now.message)}"] += 1
            continue
        small = shrink(scenario, lambda candidate, graded=graded: examine(candidate, graded).failed)  # type: ignore[misc]
        key = (found["engine"], *sorted(small.operators))
        text = f"{found['engine']}: {examine(small, graded).message}\n\n```\n{small.text}```"
        shown.setdefault(key, (text, []))[1].append(found["seed"])
    excused = [f"- {count} graphs: {said}" for said, count in corrected.most_common()]
    mended = ["Of these graphs the suite as it is now says something else: the fault was its own.", "\n".join(excused)]
    return (
        "\n\n".join(mended if excused else [])
        + "\n\n"
        + "\n\n".join(f"Seeds {', '.join(map(str, seeds))}: {text}" for text, seeds in shown.values())
    )


def main() -> None:
    """Print the page of the given lines."""
    parser = argparse.ArgumentParser(description="Write the page of a soak.")
    parser.add_argument("lines", type=Path, nargs="+", help="what tests.benchmarks.soak wrote")
    parser.add_argument("--detection", type=Path, help="the same of a run with --inject-every 1")
    options = parser.parse_args()
    lines = {(line["at_kinks"], line["block"]): line for path in options.lines for line in read_lines(path)}
    detection = list(lines.values()) if options.detection is None else read_lines(options.detection)
    sys.stdout.write(page(list(lines.values()), detection))


if __name__ == "__main__":
    main()
