"""Judgements of observed arrays against the certified truth, legal limits, and elements of subdifferentials.

Entries are compared one by one: no tolerance depends on the size of the array. An entry passes within ``ALLOWANCE``
times its rounding budget (plus one unit roundoff of its own size). Where the truth itself is an interval, at a kink,
any element of it is legal. The allowance was measured: over 1,040,314 random graphs (59 of the rows) the largest ratio
of a correct engine's error to its budget was 1.915.

Where an operator has no value (a logarithm of -1), its derivative is NaN in floating point too, and zero cotangents
that arrive there are multiplied by it. So even gradients that do not depend on the value are NaN in every engine.

Each entry of a gradient at a kink may lie in its certified interval, but the entries depend on each other: where x and
y tie for a maximum, 1 is legal for either of them, but not for both. For every legal choice, the product of the
gradient with a direction lies in the certified interval of the directional derivative, which respects that weights sum
to one. So the product is compared with that interval for some directions. A legal choice is inside all of these
intervals, so it is never judged wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from flint import arb

from refgrad.interpreter import NUMPY_FUNCTIONS, Float64, evaluate, expanded, keywords
from refgrad.operators import Edge, Formula, Operator, operator_table
from refgrad.operators.functions.balls import precision
from refgrad.oracles.certified.certified import Certified, CertifiedOracle, Floats
from refgrad.oracles.certified.directional import Contributions, directional_derivative, gaps_at_kinks
from refgrad.oracles.certified.ranged import plain_ball
from refgrad.scenario import Scenario
from refgrad.scenario.formats import FLOAT64, Format
from refgrad.scenario.rewrite import needed

Outcome = Literal["wrong", "inaccurate", "convention", "inconclusive", "passed"]
SEVERITY: tuple[Outcome, ...] = ("wrong", "inaccurate", "convention", "inconclusive", "passed")

ALLOWANCE = 4.0
INACCURATE_BELOW = 1e-5
"""Largest relative error with which a float64 outside of its budget is ``inaccurate`` instead of ``wrong``."""

NEGLIGIBLE_BELOW = 1e-12
"""Largest error, relative to the largest seed, that is ``inaccurate`` where a float64 of 0 or a subnormal is expected.

It is some 10,000 roundings of that seed: enough for cancellation in a long formula, and far below any slope that a
gradient has by a mistake.
"""

VAGUE_ABOVE = 1e-6
"""Fraction of max(1, |truth|) above which a budget is too large to judge a float64: a kink or a pole is too near.

The same fraction distinguishes intervals in which any element is legal from numbers. The truth is computed with a
hundred bits or more, whatever the engine's format is, so this use does not depend on the format.
"""


def vague_above(form: Format) -> float:
    """Return the fraction of max(1, |truth|) above which a budget in this format is too large to judge the engine.

    It is the same share of the format's digits as 1e-6 is of float64's: if rounding may take more than five eighths of
    an entry, the entry is no evidence of how it was computed. The fraction is 2e-3 for float32, 6e-2 for float16 and
    0.12 for bfloat16, or some 30,000, 100 and 30 roundings.
    """
    return _same_share(VAGUE_ABOVE, form)


def inaccurate_below(form: Format) -> float:
    """Return the largest relative error with which an entry outside of its budget is ``inaccurate``.

    It leaves the same share of the format's digits as 1e-5 leaves of float64's: three tenths of them.
    """
    return _same_share(INACCURATE_BELOW, form)


def negligible_below(form: Format) -> float:
    """Return the largest error, relative to the largest seed, that is ``inaccurate`` where 0 is expected."""
    return _same_share(NEGLIGIBLE_BELOW, form)


def last_place(number: float, form: Format) -> float:
    """Return the unit in the last place of a finite number, at least that of the smallest normal one."""
    return math.ldexp(form.unit, math.frexp(max(abs(number), form.smallest_normal))[1])


def _same_share(fraction: float, form: Format) -> float:
    """Return the fraction for a format, given that for float64.

    Its logarithm is proportional to the number of bits.
    """
    return float(fraction ** (form.bits / FLOAT64.bits))


@dataclass(frozen=True, slots=True)
class EntryError:
    """The worst entry of an array: its index, the observed number, and the certified interval that should contain it.

    ``scaled_error`` is its error relative to the largest seed, NaN where no seed is known.
    """

    index: tuple[int, ...]
    observed: float
    lower: str
    upper: str
    relative_error: float
    budgets: float
    scaled_error: float = math.nan

    @property
    def interval(self) -> str:
        """Text of the truth: a number, or an interval if several numbers are legal."""
        return self.lower if self.lower == self.upper else f"in [{self.lower}, {self.upper}]"

    def describe(self) -> str:
        """Return one line, e.g. ``entry (0, 1): 4.0, but the truth is 6.0 (relative error 3.3e-01)``."""
        entry = f"entry {self.index}: " if self.index else ""
        if np.isnan(self.relative_error):
            return f"{entry}{self.observed!r}, but the truth is {self.interval}"
        explained = f", {self.budgets:.3g} times what rounding explains" if np.isfinite(self.budgets) else ""
        size = f"(relative error {self.relative_error:.1e}{explained})"
        return f"{entry}{self.observed!r}, but the truth is {self.interval} {size}"

    def describe_choice(self) -> str:
        """Return one line for a choice of several legal answers, e.g. ``0.5, of the legal answers in [0.0, 1.0]``."""
        entry = f"entry {self.index}: " if self.index else ""
        return f"{entry}{self.observed!r}, of the legal answers {self.interval}"


Severity = Literal["wrong", "inaccurate", "inconclusive", "convention"]


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """An entry of the gradient of one input that is not simply right, and the interval that contains the truth.

    ``input`` counts the function's inputs. ``entry`` is an index into it, or None if only a direction is known.
    ``explained`` is the error as a multiple of what rounding and the uncertainty of the truth explain. ``cause`` is the
    reason why the entry is inconclusive: ``kink``, ``pole``, ``noise`` or ``time``.
    """

    severity: Severity
    input: int
    entry: tuple[int, ...] | None
    observed: float
    lower: float
    upper: float
    truth: str
    explained: float = math.inf
    cause: str = ""

    @property
    def failing(self) -> bool:
        """Return True if the gradient is at fault."""
        return self.severity in {"wrong", "inaccurate"}

    @property
    def error(self) -> float:
        """Distance of the observed number from the interval, infinite if the number is not finite."""
        if not math.isfinite(self.observed):
            return math.inf
        return max(self.lower - self.observed, self.observed - self.upper, 0.0)

    @property
    def relative_error(self) -> float:
        """Error relative to the truth, infinite if that is zero."""
        size = min(abs(self.lower), abs(self.upper))
        return self.error / size if size else math.inf


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome for an array, and the entry that decided it, unless it is ``passed`` or has another shape."""

    outcome: Outcome
    entry: EntryError | None = None


def judge(observed: npt.NDArray[np.generic], certified: Certified, scale: float = 0.0) -> Judgement:
    """Compare an observed array with the truth, in the format that the truth was certified for.

    A shape other than the certified one is ``wrong``. ``scale`` is the magnitude of the largest seed: where 0 or a
    subnormal number is expected, an error that is negligible relative to it is at most ``inaccurate``.
    """
    if observed.shape != certified.shape:
        return Judgement("wrong")
    if observed.size == 0:
        return Judgement("passed")
    numbers = observed.astype(np.float64)
    if _right_to_the_last_bits(numbers, certified):
        return Judgement("passed")
    outcomes, errors = _outcomes(numbers, certified, scale)
    for outcome in SEVERITY:
        at = np.flatnonzero(outcomes.ravel() == outcome)
        if at.size and outcome != "passed":
            worst = at[int(np.argmax(np.nan_to_num(errors.ravel()[at], nan=np.inf)))]
            return Judgement(outcome, _entry(observed, certified, int(worst), scale))
    return Judgement("passed")


def _right_to_the_last_bits(observed: npt.NDArray[np.float64], certified: Certified) -> bool:
    """Return True if every entry passes whatever its rounding budget is, so that the budget is not needed.

    Most arrays have few entries, and for these a loop is faster than NumPy.
    """
    share = ALLOWANCE * certified.form.unit
    for number, ball in zip(observed.ravel().tolist(), certified.balls.ravel().tolist(), strict=True):
        truth = float(ball)
        allowed = share * abs(truth)
        if not (abs(number - truth) <= allowed < math.inf and float(ball.rad()) <= allowed):
            return False
    return True


def _outcomes(
    observed: npt.NDArray[np.float64], certified: Certified, scale: float
) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.float64]]:
    truth, radius, budget, form = certified.midpoint, certified.radius, certified.budget, certified.form
    vague = vague_above(form)
    with np.errstate(all="ignore"):
        error = np.abs(observed - truth)
        size = np.maximum(1.0, np.abs(truth))
        tolerance = ALLOWANCE * (budget + form.unit * np.abs(truth)) + form.underflow
        within = error <= tolerance + radius
        close = error <= inaccurate_below(form) * np.abs(truth)
        close |= (np.abs(truth) < form.smallest_normal) & (error <= negligible_below(form) * scale)
        outcome = np.where(within, "passed", np.where(close, "inaccurate", "wrong")).astype("<U12")
        outcome[within & (budget > vague * size) & (error > vague * size)] = "inconclusive"
        several = has_choices(certified)
        legal = error <= radius + vague * size
        explained = error <= radius + ALLOWANCE * np.maximum(budget - radius, 0.0)
        chosen = np.where(legal, "convention", np.where(explained, "inconclusive", "wrong"))
        outcome[several] = chosen[several]
        outcome[undecided(certified)] = "inconclusive"
    outcome[_infinite(certified) & (observed == truth)] = "passed"
    return outcome, error


def has_choices(certified: Certified) -> npt.NDArray[np.bool_]:
    """Return a mask of the entries at kinks, where the truth is an interval and any element of it is legal."""
    with np.errstate(all="ignore"):
        several: npt.NDArray[np.bool_] = certified.radius > VAGUE_ABOVE * np.maximum(1.0, np.abs(certified.midpoint))
    return several


def undecided(certified: Certified) -> npt.NDArray[np.bool_]:
    """Return a mask of the entries that are never ``wrong``: the truth is unknown, or rounding has no bound."""
    parts = (certified.radius, certified.budget, certified.midpoint)
    finite: npt.NDArray[np.bool_] = np.logical_and.reduce([np.isfinite(part) for part in parts])
    return ~finite


def _infinite(certified: Certified) -> npt.NDArray[np.bool_]:
    """Return a mask of exactly infinite entries, as in leaves; unknown and too large numbers are not among them."""
    poles = np.array(np.isinf(certified.midpoint))
    balls = map(plain_ball, certified.balls[poles].tolist())
    poles[poles] = [ball.is_exact() and not ball.is_finite() for ball in balls]
    return poles


def _entry(observed: npt.NDArray[np.generic], certified: Certified, flat: int, scale: float) -> EntryError:
    index = tuple(int(i) for i in np.unravel_index(flat, certified.shape))
    ball = certified.balls[index]
    value = float(observed[index])
    truth = float(certified.midpoint[index])
    error = abs(value - truth)
    budget = float(certified.budget[index]) + certified.form.unit * abs(truth)
    with precision(max(64, ball.bits() + 16)):
        lower, upper = _decimal(ball.lower()), _decimal(ball.upper())
        if lower != upper:
            lower, upper = (f"{float(end):.8g}" for end in (ball.lower(), ball.upper()))
            if ball.contains(0) or float(ball.abs_upper()) >= VAGUE_ABOVE:
                lower, upper = (("0" if abs(float(end)) < VAGUE_ABOVE else end) for end in (lower, upper))
    relative = error / abs(truth) if truth else float("nan")
    scaled = error / scale if scale else float("nan")
    return EntryError(index, value, lower, upper, relative, error / budget if budget else float("inf"), scaled)


def _decimal(ball: arb) -> str:
    """Return seventeen digits, which suffice to distinguish any two float64 numbers."""
    return str(ball.str(17, radius=False)) if ball.is_finite() else str(float(ball))


def limits_met(scenario: Scenario) -> tuple[Edge, ...]:
    """Return the edges of kind ``limit`` that the operators of a scenario meet, in order, e.g. x = 0 for sinc.

    Raises ScenarioEvaluationError where shapes do not match.
    """
    plain, table = expanded(scenario), operator_table()
    steps = [step for step in scenario.applications if table[step.operator].composite is not None]
    steps += plain.applications
    if not any(_conditions(table[step.operator]) for step in steps):
        return ()
    values = evaluate(plain, Float64())
    with np.errstate(all="ignore"):
        return tuple(
            edge
            for step in steps
            for edge, holds in _conditions(table[step.operator])
            if np.any(holds(*(values[a] for a in step.arguments), **table[step.operator].bind(keywords(step))))
        )


def answered_by_nan(scenario: Scenario, *, at_kink: bool) -> str:
    """Return the reason why NaN is a deliberate answer at a kink or limit that a scenario meets; empty if it is none.

    At a kink it is not known which kink is met: the result is the first such reason of the scenario's operators.
    """
    table = operator_table()
    kinks = (edge for name in sorted(scenario.operators) for edge in table[name].edges if edge.kind == "kink")
    return next((edge.nan for edge in (kinks if at_kink else limits_met(scenario)) if edge.nan), "")


def undefined_between(oracle: CertifiedOracle, leaf: str, outputs: set[str]) -> str | None:
    """Return the first name between a leaf and the outputs that has an entry without a value, or None."""
    reached = {leaf}
    for name, step in Scenario(needed(oracle.scenario.steps, outputs)).definitions.items():
        if reached.isdisjoint(step.uses):
            continue
        reached.add(name)
        if not oracle.value(name).is_finite:
            return name
    return None


@cache
def _conditions(operator: Operator) -> tuple[tuple[Edge, Callable[..., Any]], ...]:
    return tuple(
        (edge, operator.compiled(Formula(edge.where), NUMPY_FUNCTIONS))
        for edge in operator.edges
        if edge.kind == "limit"
    )


Indices = npt.NDArray[np.intp]
Shapes = Mapping[str, tuple[int, ...]]

LARGEST_NUMBER = 64
"""Largest number of entries at kinks that directions move."""

NULL = 1e-9
"""Size, relative to the largest number, below which a number counts as zero."""

RANDOM_DIRECTIONS = 4
"""Number of random directions of each kind.

One random direction in a null space detects whatever lies outside of its complement with probability one.
"""


@dataclass(frozen=True, slots=True)
class Violation:
    """A direction along which a gradient has a rate of change that no legal choice has, with both rates."""

    direction: Mapping[str, Floats]
    rate: float
    lower: float
    upper: float

    def describe(self) -> str:
        """Return one line: which entries move, the rate according to the gradient, and the legal rates."""
        speeds = {name: array for name, array in self.direction.items() if array.any()}
        moving = " and ".join(f"{name} by {_printed(array.tolist())}" for name, array in speeds.items())
        width = self.upper - self.lower
        interval = f"is {self.upper:.6g}" if width <= VAGUE_ABOVE else f"lies in [{self.lower:.6g}, {self.upper:.6g}]"
        return (
            f"no choice that is legal at the kinks: moving {moving} changes the output by {self.rate:.6g} "
            f"according to it, but the truth {interval}"
        )


def violation(
    scenario: Scenario,
    contributions: Contributions,
    observed: Mapping[str, Floats],
    certified: Mapping[str, Certified],
) -> Violation | None:
    """Return a direction which proves that gradients observed together are not a legal choice, or None.

    ``observed`` and ``certified`` are by leaf, for the same contributions. Each entry must lie in its own interval.
    """
    names = sorted(observed)
    gradient = _joined([observed[name] for name in names])
    middle = _joined([certified[name].midpoint for name in names])
    radius = _joined([certified[name].radius for name in names])
    kinked = np.isfinite(radius) & (radius > VAGUE_ABOVE * np.maximum(1.0, np.abs(middle)))
    if not kinked.any():
        return None
    budget = _joined([certified[name].budget for name in names])
    vague = max(vague_above(certified[name].form) for name in names)
    slack = vague * np.maximum(1.0, np.abs(middle) + radius) + ALLOWANCE * np.maximum(budget - radius, 0.0)
    shapes = {name: observed[name].shape for name in names}
    indices = np.flatnonzero(kinked)[:LARGEST_NUMBER]
    smooth = smooth_directions(scenario, contributions, indices, shapes)
    for direction in _directions(gradient - middle, middle, indices, smooth):
        moving = _split(direction, shapes)
        legal = directional_derivative(scenario, contributions, moving)
        rate = float(gradient[indices] @ direction[indices])
        room = float(slack[indices] @ np.abs(direction[indices]))
        lower, upper = float(legal.lower()), float(legal.upper())
        if lower - rate > room or rate - upper > room:
            return Violation(moving, rate, lower, upper)
    return None


def smooth_directions(scenario: Scenario, contributions: Contributions, indices: Indices, shapes: Shapes) -> Floats:
    """Return a basis, as columns, of the directions of these entries with equal slopes on both sides of each kink."""
    total = sum(int(np.prod(shape)) for shape in shapes.values())
    units = (np.where(np.arange(total) == index, 1.0, 0.0) for index in indices)
    gaps = np.array([gaps_at_kinks(scenario, contributions, _split(unit, shapes)) for unit in units]).T
    if not np.all(np.isfinite(gaps)) or gaps.size == 0:
        return np.zeros((indices.size, 0))
    _, sizes, rows = np.linalg.svd(gaps)
    rank = int(np.sum(sizes > NULL * max(sizes.max(), 1.0)))
    return np.asarray(rows[rank:].T)


def _directions(offset: Floats, middle: Floats, indices: Indices, smooth: Floats) -> Iterator[Floats]:
    """Yield directions that move only entries at kinks, first those along which the output is smooth.

    Along these the rate is one number, e.g. where all entries that tie move alike. The others are the engine's own
    offset from the middle of the interval, and some at random.
    """
    random = np.random.default_rng(0)
    sign = np.where(middle[indices] < 0, -1.0, 1.0)
    vectors = [sign, np.abs(sign), offset[indices], *random.normal(size=(RANDOM_DIRECTIONS, indices.size))]
    others = [offset[indices], *random.choice((-1.0, 0.0, 1.0), size=(RANDOM_DIRECTIONS, indices.size))]
    for chosen in (*(smooth @ (smooth.T @ vector) for vector in vectors), *others):
        size = np.abs(chosen).max()
        if size > NULL:
            direction = np.zeros(middle.size)
            direction[indices] = np.where(np.abs(chosen) > NULL * size, chosen / size, 0.0)
            yield direction


def _printed(speeds: Any) -> str:
    return f"[{', '.join(map(_printed, speeds))}]" if isinstance(speeds, list) else f"{speeds:.6g}"


def _joined(arrays: list[Floats]) -> Floats:
    return np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in arrays])


def _split(direction: Floats, shapes: Shapes) -> dict[str, Floats]:
    parts = np.split(direction, np.cumsum([int(np.prod(shape)) for shape in shapes.values()])[:-1])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
