"""Entries of the corpus: a scenario, the features that it needs, and the expected results of its steps."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from functools import cache
from hashlib import sha256
from itertools import islice, product
from types import MappingProxyType
from typing import Any, Final, get_args, get_type_hints

import numpy as np

from refgrad.grading.judging.comparison import Expected, undefined_for
from refgrad.grading.judging.examination import in_float64, reason_to_fail
from refgrad.lifecycle import (
    ExpectedFlag,
    ExpectedValue,
    Fails,
    Gradient,
    Lowered,
    NoGradient,
    Open,
    Policy,
    Prediction,
    Seen,
    lower,
    required_features,
)
from refgrad.native.adapter import find_adapter
from refgrad.oracles import CertifiedOracle, answered_by_nan
from refgrad.oracles.certified.certified import HIGHEST_BITS
from refgrad.oracles.judgement import has_choices
from refgrad.scenario import Scenario
from tests.grading.corpus.acceptance import accepted

Entry = dict[str, Any]
Row = dict[str, Any]
Box = dict[str, tuple[Any, ...]]

CHOICES: Final[Mapping[str, tuple[Any, ...]]] = MappingProxyType({
    field.name: get_args(get_type_hints(Policy)[field.name]) for field in fields(Policy)
})
"""Possible values of each field of a policy, the default first."""

WIDER: Final = 0.05
"""Largest widening of an end of an interval for fewer digits, relative to the width of the interval."""

MOST_WIDER: Final = 1e-7
"""Largest absolute widening of an end of an interval for fewer digits."""

DIGITS: Final = 16
"""Number of hex digits of an entry's id."""

Floats = np.ndarray[Any, np.dtype[np.float64]]


def entries_of(check: str, scenario: Scenario, *, every_policy: bool = True) -> Iterator[Entry]:
    """Yield entries that differ in their expected results, each with the policies that it applies to.

    The entry of the default policy comes first. Without ``every_policy`` it is the only one.
    """
    boxes = boxes_of({policy: lower(scenario, policy) for policy in all_policies()})
    for box in islice(boxes, None if every_policy else 1):
        lowered = lower(scenario, Policy(**{name: values[0] for name, values in box.items()}))
        policies = {name: values for name, values in box.items() if len(values) < len(CHOICES[name])}
        yield _numbered({
            "check": check,
            "needs": sorted(_needs(scenario, lowered)),
            **({"policy": policies} if policies else {}),
            "steps": scenario.to_json()["steps"],
            **_that_may_fail(scenario, lowered),
            "due": list(_expected_rows(scenario, lowered)),
        })


@cache
def all_policies() -> tuple[Policy, ...]:
    """Return every policy, the default one first."""
    return tuple(Policy(**dict(zip(CHOICES, values, strict=True))) for values in product(*CHOICES.values()))


def boxes_of(outcomes: Mapping[Policy, object]) -> Iterator[Box]:
    """Yield boxes of policies with equal outcomes that cover all policies.

    A box holds for each field of a policy the values that it may have.
    """
    covered: set[Policy] = set()
    for policy in outcomes:
        if policy not in covered:
            box = _box_around(policy, outcomes)
            covered |= set(_policies_in(box))
            yield box


def _box_around(policy: Policy, outcomes: Mapping[Policy, object]) -> Box:
    box: Box = {name: (value,) for name, value in asdict(policy).items()}
    for name, values in CHOICES.items():
        for value in values:
            wider = {**box, name: (*box[name], value)}
            if value not in box[name] and all(outcomes[each] == outcomes[policy] for each in _policies_in(wider)):
                box = wider
    return box


def _policies_in(box: Box) -> Iterator[Policy]:
    return (Policy(**dict(zip(box, values, strict=True))) for values in product(*box.values()))


def line_of(entry: Entry) -> str:
    """Return an entry as a line of JSON, the same one on every machine."""
    return json.dumps(entry, separators=(",", ":"), allow_nan=False) + "\n"


def _numbered(entry: Entry) -> Entry:
    return {"id": sha256(line_of(entry).encode()).hexdigest()[:DIGITS], **entry}


def _needs(scenario: Scenario, lowered: Lowered) -> set[str]:
    """Return the features that an engine with the policy needs. Its errors may differ from those of the default one."""
    kinds = {kind for p in lowered.predictions if isinstance(p, Fails) for kind in (p.kind, *p.others)}
    others = {feature for feature in required_features(scenario) if not feature.startswith("error:")}
    return others | {f"error:{kind}" for kind in kinds}


def _that_may_fail(scenario: Scenario, lowered: Lowered) -> Mapping[str, list[int]]:
    """Return the steps at which an engine may raise an error, after which nothing is expected."""
    if lowered.scenario is not scenario:
        return {}
    oracle = CertifiedOracle(scenario)
    failing = [number for number in range(1, len(scenario.steps) + 1) if reason_to_fail(oracle, number) is not None]
    return {"may_fail": failing} if failing else {}


def _expected_rows(scenario: Scenario, lowered: Lowered) -> Iterator[Row]:
    """Yield a row for each step that has an expected result, must fail, or may do anything."""
    oracle = CertifiedOracle(lowered.scenario)
    for number, prediction in enumerate(lowered.predictions[: len(scenario.steps)], 1):
        row = _row(prediction, oracle)
        if row is not None:
            yield {"step": number, **row}


def _row(prediction: Prediction, oracle: CertifiedOracle) -> Row | None:  # noqa: PLR0911 (one for each prediction)
    match prediction:
        case Open():
            return {"shows": "anything"}
        case Fails():
            return {"shows": "error", "kinds": [prediction.kind, *prediction.others]}
        case ExpectedFlag():
            return {"shows": "flag", "holds": prediction.holds}
        case NoGradient():
            return {"shows": "nothing"}
        case ExpectedValue():
            return {"shows": "value", **_array(_expectation(prediction, oracle))}
        case Gradient():
            own = in_float64(oracle, prediction.leaf, {each[0] for each in prediction.contributions})
            return {"shows": "gradient", **_array(_expectation(prediction, own))}
        case Seen():
            calls = [_array(_expectation(Gradient(prediction.tensor, (call,)), oracle)) for call in prediction.calls]
            return {"shows": "calls", "calls": calls}
    return None


def _expectation(prediction: ExpectedValue | Gradient, oracle: CertifiedOracle) -> Expected:
    return Expected(oracle, prediction, find_adapter("refgrad"))


def _array(expected: Expected) -> Row:
    """Return the shape, the dtype and the bounds of an expected array, and what is legal instead."""
    certified = expected.narrowest
    if np.any(has_choices(certified)):
        certified = expected.certified(HIGHEST_BITS)
    low, high = accepted(certified)
    if len(expected.oracle.original.gradients) > 1:  # the budget does not bound what rounding leaves of a zero there
        low, high = (np.where(certified.midpoint == 0, np.nan, end) for end in (low, high))
    width = high - low
    return {
        "shape": list(certified.shape),
        **({} if expected.dtype is None else {"dtype": expected.dtype}),
        "lower": _numbers(low, width, ROUND_FLOOR),
        "upper": _numbers(high, width, ROUND_CEILING),
        **_alternatives(expected, at_kink=bool(np.any(has_choices(certified)))),
    }


def _alternatives(expected: Expected, *, at_kink: bool) -> Row:
    """Return the key ``none`` if the absence of the array is legal, too, and ``nan`` if NaN is a legal entry of it."""
    scenario = expected.oracle.original
    nan = (
        undefined_for(expected)
        or answered_by_nan(scenario, at_kink=False)
        or (at_kink and answered_by_nan(scenario, at_kink=True))
    )
    none = not expected.is_certain and (expected.narrowest.is_zero or not expected.narrowest.is_finite)
    return {**({"none": True} if none else {}), **({"nan": True} if nan else {})}


def _numbers(ends: Floats, widths: Floats, rounding: str) -> list[float | None]:
    """Return ends of intervals in few digits, moved outwards by a small part of the width at most, or None for NaN."""
    pairs = zip(ends.ravel().tolist(), widths.ravel().tolist(), strict=True)
    return [None if math.isnan(end) else _shortened(end, width, rounding) for end, width in pairs]


def _shortened(end: float, width: float, rounding: str) -> float:
    if not (math.isfinite(end) and math.isfinite(width) and width > 0):
        return end
    digit = Decimal(1).scaleb(math.floor(math.log10(min(width * WIDER, MOST_WIDER))))
    with localcontext(prec=1100):
        return float(Decimal(end).quantize(digit, rounding))
