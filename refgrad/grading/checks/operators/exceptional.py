"""Families of checks where an entry of an operand is NaN, infinite, subnormal, the largest number or -0.0."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from refgrad.facts import Tally
from refgrad.generation import Position, everywhere, exceptional_positions, numbers_at, shrink
from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import FamilyCheck
from refgrad.grading.checks.operators.derivatives import after_own_value, has_derivatives
from refgrad.grading.checks.operators.values import TRIED
from refgrad.grading.judging.exceptional import examine_equal, examine_exceptional, examine_limits, examine_tails
from refgrad.grading.judging.verdict import FAILURES, Finding, Outcome, Verdict, merged
from refgrad.grading.search import Demonstration, run_again
from refgrad.operators import operator_table
from refgrad.operators.differentiation import bending
from refgrad.scenario import Scenario


@dataclass(frozen=True, slots=True)
class PositionSearch:
    """Search among fixed scenarios that each have one exceptional number.

    ``examine`` returns the finding of a number at a position, and ``numbers`` those that are tried at a position.
    ``relocate`` returns the position to try instead of one of the operator's. A finding with one of the outcomes in
    ``shows`` decides the verdict and is shown by its smallest scenario.
    """

    check: FamilyCheck
    bench: Bench
    examine: Callable[[Position, float], Finding]
    numbers: Callable[[Position], Iterable[float]] = numbers_at
    shows: frozenset[Outcome] = FAILURES
    relocate: Callable[[Position], Position] = lambda position: position
    screens: bool = False
    """True if numbers that pass as the entries of one operand are not tried one by one."""

    def run(self) -> Verdict:
        """Try each number at each position, if the engine is right with ordinary numbers there."""
        outcomes: Counter[Outcome] = Counter()
        demonstrations: dict[tuple[Outcome, bool, bool], Demonstration] = {}
        for position, number in self._tried(outcomes):
            finding = self.examine(position, number)
            explained = finding.failed and not self._is_new(position.holding(number), number, finding)
            outcomes["passed" if explained else finding.outcome] += 1
            kind = finding.outcome, finding.is_mild, math.isfinite(number)
            if finding.outcome in self.shows and not explained and kind not in demonstrations:
                demonstrations[kind] = self._demonstrated(self.smallest(position, number, finding), number)
        if demonstrations:
            ordered = sorted(demonstrations.values(), key=lambda each: each.finding.rank)
            return self.bench.verdict_of(self.check, *ordered, examples=outcomes.total())
        outcome: Outcome = next((each for each in DECIDED if outcomes[each]), "inconclusive")
        return self.bench.verdict(self.check, outcome, Tally.of(outcomes), examples=outcomes.total())

    def _is_new(self, scenario: Scenario, number: float, finding: Finding) -> bool:
        """Return True if no known inaccuracy explains a failure, nor a failure at zero, which other checks draw."""
        is_drawn = number == 0 and not self.check.reports(scenario, finding, self.bench)
        return self._fails(scenario, finding) and not is_drawn

    def _fails(self, scenario: Scenario, finding: Finding) -> bool:
        """Return True if a scenario fails and no known inaccuracy explains it."""
        return finding.failed and not self.check.explains(scenario, finding, self.bench)

    def _demonstrated(self, position: Position, number: float) -> Demonstration:
        examine = partial(self.examine, position, number)
        return run_again(position.holding(number), examine(), self.bench, lambda: examine().outcome in self.shows)

    def _tried(self, outcomes: Counter[Outcome]) -> Iterator[tuple[Position, float]]:
        """Yield positions and numbers, and count the positions that the engine does not support in ``outcomes``.

        All scenarios of a position are run in one batch.
        """
        right: dict[Scenario, bool] = {}
        bench, most = self.bench, self.bench.settings.effort["exceptional"]
        adapter = bench.engine.adapter
        holds_all = adapter.dtype == "float64" in adapter.dtypes  # the extreme numbers are those of float64
        for each in exceptional_positions(self.check.operator_name, bench.profile(seeds=True), most):
            position = self.relocate(replace(each, base=bench.reliance.isolated(each.base)))
            if position.base not in right:
                runs = bench.reliance.runnable(position.base)
                finding = bench.examine(position.base, self.check) if runs else Finding("unsupported")
                outcomes.update(["unsupported"] if finding.outcome == "unsupported" else [])
                right[position.base] = finding.outcome != "unsupported" and not self._fails(position.base, finding)
            if right[position.base]:
                numbers = [
                    number for number in self.numbers(position) if holds_all or number == 0 or not math.isfinite(number)
                ]
                if self.screens and numbers and self._pass_together(position, numbers):
                    outcomes["passed"] += len(numbers)
                    continue
                bench.prepare([position.holding(number) for number in numbers], self.check)
                yield from ((position, number) for number in numbers)

    def _pass_together(self, position: Position, numbers: Sequence[float]) -> bool:
        """Return True if all numbers pass as the entries of one operand. Each entry is judged by itself."""
        return self.examine(everywhere(position, (*numbers,)), numbers[0]).outcome == "passed"

    def smallest(self, position: Position, number: float, finding: Finding) -> Position:
        """Return the position in the smallest scenario that fails equally with the number, and passes without it.

        Its operands have only numbers of the original scenario: new ones could be equal, or lie on a kink.
        """
        applied = _applied(position.base)

        def shows(base: Scenario) -> bool:
            other = position.located_in(base)
            if other is None or _applied(base) != applied:
                return False
            if self._fails(base, self.bench.examine(base, self.check)):
                return False
            seen = self.examine(other, number) if self.bench.reliance.runnable(base) else Finding("unsupported")
            return seen.rank == finding.rank and not self.check.explains(other.holding(number), seen, self.bench)

        return position.located_in(shrink(position.base, shows, TRIED["shrinks_at_a_place"])) or position


DECIDED: Final[tuple[Outcome, ...]] = ("passed", "convention", "unsupported")
"""Outcomes of a search without failures, the first that was observed."""

FAR_OUT, FURTHER_OUT = (
    tuple(sign * number for number in numbers for sign in (1.0, -1.0))
    for numbers in (TRIED["far_out"], TRIED["further_out"])
)
"""Numbers that are neither ordinary nor exceptional. The square of some that are further out is no longer a number."""


def _applied(scenario: Scenario) -> list[tuple[str, int]]:
    """Return the operators that a scenario applies, each with its number of distinct operands."""
    return [(step.operator, len(set(step.arguments))) for step in scenario.applications]


def _at_every_number(check: FamilyCheck, bench: Bench) -> Verdict:
    """Judge the results that do not depend on the exceptional number, and those that depend on NaN.

    At second order, operators with edges are left out: their rules may compare, and choose another number than NaN.
    """
    flushes = bench.reliance.flushes_subnormals
    examine = partial(examine_exceptional, engine=bench.engine, flushes=flushes)
    verdict = PositionSearch(check, bench, examine).run()
    if verdict.failed or not operator_table()[check.operator_name].elementwise:
        return verdict
    of_nan = partial(PositionSearch, check, bench, numbers=lambda _: [math.nan])
    searches = [of_nan(examine=partial(examine_equal, engine=bench.engine), relocate=everywhere)]
    twice = bench.settings.effort["nan_at_second_order"] and not check.operator.edges
    if twice and has_derivatives(check.operator):
        searches.append(of_nan(examine=examine, relocate=partial(Position.differentiated_twice, weighted=True)))
    for search in searches:
        further = search.run()
        if further.failed:
            return further
        verdict = replace(verdict, examples=verdict.examples + further.examples)
    return verdict


def _at_infinities(check: FamilyCheck, bench: Bench) -> Verdict:
    """Judge the values and derivatives that have a limit at infinity."""
    examine = partial(examine_limits, engine=bench.engine)
    return PositionSearch(check, bench, examine, lambda position: filter(math.isinf, numbers_at(position))).run()


def _far_out(check: FamilyCheck, bench: Bench) -> Verdict:
    """Judge the derivatives at numbers far out, where they are small or large.

    Those of the second order are judged for operators of one operand, at numbers whose powers are numbers, too.
    """
    most, examine = bench.settings.effort["far_out"], partial(examine_tails, engine=bench.engine)
    shows: frozenset[Outcome] = FAILURES | {"convention"}

    def tried(*numbers: float) -> Callable[[Position], Iterable[float]]:
        return lambda position: numbers[:most] if position.matters else ()

    row = check.operator
    screens = row.elementwise and not bench.engine.adapter.scalars_only
    search = partial(PositionSearch, check, bench, examine, shows=shows, screens=screens)
    once = search(numbers=tried(*FAR_OUT, *FURTHER_OUT)).run()
    if len(row.arguments) > 1 or not any(bending(row, name) for name in row.argument_names):
        return once
    again = partial(Position.differentiated_twice, weighted=False)
    twice = search(numbers=tried(*FAR_OUT), relocate=again).run()
    return merged(once, twice) if twice.verdict in shows else once


EXCEPTIONAL: Final = after_own_value("exceptional", _at_every_number, draws=False)
INFINITIES: Final = after_own_value(
    "infinities", _at_infinities, draws=False, is_about=lambda operator: operator.composite is None
)
TAILS: Final = after_own_value(
    "tails",
    _far_out,
    draws=False,
    is_about=lambda operator: not all(map(operator.vanishes, operator.partials)),
)
