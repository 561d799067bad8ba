"""Judgement of scenarios in which one entry of an operand is exceptional: NaN, an infinity, or an extreme number.

Results that do not depend on the entry are compared with the certified truth of the same scenario with an ordinary
number there. A value that depends on NaN must be NaN, and so must a gradient that depends on it everywhere. A value
that is the largest or a subnormal number itself must be that number. An operator with kinks chooses by comparisons,
which are false for NaN: a number where NaN is expected is a milder failure there. At an infinity a value or a
derivative must be its limit if the limit is certain. Everything else is left to the engine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.facts import Entry, Error, Subject
from refgrad.generation import Place
from refgrad.grading.judging.comparison import compare_array
from refgrad.grading.judging.dependence import Dependence, Expectation, Numbers
from refgrad.grading.judging.examination import confront, examine
from refgrad.grading.judging.verdict import Finding, worst
from refgrad.lifecycle import ExpectedValue, Gradient, lower
from refgrad.native.adapter import AnyAdapter
from refgrad.native.engine import Engine, observe
from refgrad.native.observation import Observation
from refgrad.oracles.judgement import inaccurate_below, negligible_below
from refgrad.scenario import Scenario
from refgrad.scenario.formats import FLOAT64

PASSES_NAN_OVER: Final = re.compile(r"\bnan(?!_to_num)\w*\(")
"""Pattern of spellings by functions that ignore NaN, as NumPy, PyTorch and JAX name them: ``nansum``."""

Judged = Callable[[Dependence, float, Expectation, Subject, Observation], Finding]


def examine_exceptional(place: Place, number: float, engine: Engine, *, flushes: bool = False) -> Finding:
    """Return the worst finding of a scenario with a number in a place. Limits at an infinity are not checked.

    An engine that ``flushes`` treats subnormals as zeros in all computations.
    """
    dependence = _dependence(place, engine.adapter)
    conventions = dependence.row.exceptional.conventions
    if number == 0:
        return _unlike(examine(place.holding(number), engine), examine(place.holding(abs(number)), engine))
    if _is_subnormal(number) and (flushes or "subnormal" in conventions):
        return Finding("convention")
    if _is_subnormal(number) and dependence.row.elementwise:
        plain = examine(place.holding(number), engine)
        return plain if not plain.failed or (plain.outcome == "wrong" and not dependence.row.kinks) else _left(plain)
    return _examined(place, number, engine, _judged)


def examine_limits(place: Place, number: float, engine: Engine) -> Finding:
    """Return the worst finding of the values and derivatives that have a limit as the number becomes infinite."""
    return _examined(place, number, engine, _judged_by_limit)


def _is_subnormal(number: float) -> bool:
    return 0 < abs(number) < FLOAT64.smallest_normal


def _left(finding: Finding) -> Finding:
    return replace(finding, outcome="inconclusive")


def _unlike(finding: Finding, other: Finding) -> Finding:
    """Return the finding of a negative zero; inconclusive if zero fails, too, which checks of the edges report."""
    return _left(finding) if finding.failed and other.failed else finding


def _examined(place: Place, number: float, engine: Engine, judged: Judged) -> Finding:
    """Judge every array that a scenario shows. An engine may raise an error for the number: that is inconclusive."""
    scenario = place.holding(number)
    predictions, observations = lower(scenario, engine.adapter.policy).predictions, observe(scenario, engine)
    dependence = _dependence(place, engine.adapter)
    if any(each.ending is not None for each in observations):
        return confront(predictions, observations, dependence.oracle, engine.adapter)
    error = next((each.error for each in observations if each.error is not None), None)
    if error is not None:
        return Finding("inconclusive", Error(error=error, excuse="valueless"))
    if math.isnan(number) and _passes_over(scenario, engine):
        return Finding("convention")
    return worst(
        replace(judged(dependence, number, read, _subject(read), seen), step=step)
        for step, (read, seen) in enumerate(zip(predictions, observations, strict=True), 1)
        if isinstance(read, ExpectedValue | Gradient)
    )


@lru_cache(maxsize=4)
def _dependence(place: Place, adapter: AnyAdapter) -> Dependence:
    return Dependence(place, adapter)


def _passes_over(scenario: Scenario, engine: Engine) -> bool:
    return any(PASSES_NAN_OVER.search(engine.spelling(step, scenario)) for step in scenario.applications)


def _subject(read: Expectation) -> Subject:
    return Subject("value", read.name) if isinstance(read, ExpectedValue) else Subject("gradient", read.leaf)


def _judged(dependence: Dependence, number: float, read: Expectation, subject: Subject, seen: Observation) -> Finding:
    """Judge the entries that do not depend on the number, depend on NaN, or are an extreme number themselves."""
    due = dependence.due(read)
    truth, conventions = due.certified().midpoint, dependence.row.exceptional.conventions
    if seen.array is None or seen.array.shape != truth.shape:
        return compare_array(subject, seen, due)
    findings = []
    if "containment" not in conventions:
        finding = _contained(dependence, read, subject, seen, dependence.may_be_free(read))
        findings.append(
            _contained(dependence, read, subject, seen, dependence.is_free(read)) if finding.failed else finding
        )
    if math.isfinite(number) and isinstance(read, ExpectedValue):
        least = 0.0 if _is_subnormal(number) else FLOAT64.underflow
        findings.append(_as_due(subject, seen.array, dependence.passed_on(read, number), least, due.scale))
    if math.isnan(number) and "nan" not in conventions:
        findings.append(_propagated(dependence, read, subject, seen.array, truth))
    return worst(findings)


def _contained(
    dependence: Dependence, read: Expectation, subject: Subject, seen: Observation, free: npt.NDArray[np.bool_]
) -> Finding:
    """Judge the entries in ``free`` by the truth with an ordinary number in the place; the others count as right."""
    assert seen.array is not None
    due = dependence.due(read)
    judged = np.where(free, seen.array, due.certified().midpoint)
    array = judged.astype(seen.array.dtype) if seen.array.dtype.kind == "f" else judged  # integers may stand for floats
    return compare_array(subject, replace(seen, array=array), due)


def _propagated(
    dependence: Dependence, read: Expectation, subject: Subject, array: npt.NDArray[Any], truth: Numbers
) -> Finding:
    """Return the finding for the first entry that depends on NaN and is a number.

    Entries that NaN cannot reach and that have not changed are right.
    """
    changed = ~np.isclose(array, truth, rtol=inaccurate_below(FLOAT64), atol=0.0)
    suspect = ~np.isnan(array) & (changed | dependence.may_move(read))
    if not suspect.any():
        return Finding("passed")
    depends = dependence.moves(read) if isinstance(read, ExpectedValue) else dependence.always_moves(read)
    finding = _first(subject, array, suspect & depends, np.full(truth.shape, math.nan))
    if finding.failed and dependence.row.kinks and isinstance(finding.fact, Entry):
        return Finding("wrong", replace(finding.fact, remark="swallowed"))
    return finding


def _judged_by_limit(
    dependence: Dependence, number: float, read: Expectation, subject: Subject, seen: Observation
) -> Finding:
    limits = dependence.limits(read, number)
    if seen.array is None or seen.array.shape != limits.shape or "infinity" in dependence.row.exceptional.conventions:
        return Finding("passed")
    return _as_due(subject, seen.array, limits, FLOAT64.underflow)


def _as_due(subject: Subject, array: npt.NDArray[Any], due: Numbers, least: float, scale: float = 0.0) -> Finding:
    """Return the finding for the first entry that differs from ``due`` in its leading digits. NaN matches any entry.

    Where 0 or a subnormal number is expected, an error that is small relative to ``scale`` is inaccurate, not wrong.
    """
    with np.errstate(all="ignore"):
        error = np.abs(array - due)
        near = error <= inaccurate_below(FLOAT64) * np.abs(due) + least
        slight = (np.abs(due) < FLOAT64.smallest_normal) & (error <= negligible_below(FLOAT64) * scale)
    wrong = ~(np.isnan(due) | (near & np.isfinite(due)) | (array == due))
    finding = _first(subject, array, wrong & ~slight, due)
    return finding if finding.failed else _first(subject, array, wrong, due, scale)


def _first(
    subject: Subject, array: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], due: Numbers, scale: float = 0.0
) -> Finding:
    """Return the finding for the first entry in the mask ``wrong``: wrong, or inaccurate if a ``scale`` is given."""
    if not wrong.any():
        return Finding("passed")
    index = tuple(map(int, np.argwhere(wrong)[0]))
    truth, unknown = repr(float(due[index])), repr(math.nan)
    observed = repr(float(array[index]))
    scaled = repr(float(abs(array[index] - due[index]) / scale)) if scale else unknown
    return Finding("inaccurate" if scale else "wrong", Entry(
        subject=subject, index=index, observed=observed, lower=truth, upper=truth, relative_error=unknown,
        budgets=unknown, ulps=unknown, scaled_error=scaled, remark="negligible" if scale else "",
    ))  # fmt: skip
