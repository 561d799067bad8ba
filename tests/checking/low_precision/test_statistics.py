"""The comparison of all entries at once: false alarms and power on simulated gradients."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refgrad.checking import low_precision
from refgrad.checking.low_precision import _of_entries, walsh
from refgrad.checking.low_precision.statistics import (
    SINGLE,
    Contrast,
    Errors,
    contrasts,
    first_finding,
    groupings,
    noise,
    normal_quantile,
    student_quantile,
)
from refgrad.scenario.formats import FORMATS, rounded
from tests.effort import each
from tests.snapshots.placement import PlainText

BRAIN = FORMATS["bfloat16"]
RUNS = 32


def simulated(seed: int, shape: tuple[int, int], *, shared: str, factor: Any = 1.0, term: Any = 0.0) -> Errors:
    """Return a gradient whose entries are rounded twice, and whose rows (or all entries) have a rounded factor."""
    choices = np.random.default_rng(seed)
    truth = choices.normal(size=shape) * np.exp(choices.normal(size=(shape[0], 1)))
    common = {"none": (), "rows": (shape[0], 1), "all": (1, 1)}[shared]

    def rounding(size: tuple[int, ...]) -> Any:
        return choices.uniform(-1, 1, size) * BRAIN.unit / choices.uniform(1, 2, size)

    observed = (truth * factor + term) * (1 + rounding(shape))
    if common:
        observed = observed * (1 + rounding(common))
    errors = truth * (choices.uniform(-1, 1, (RUNS, *shape)) + choices.uniform(-1, 1, (RUNS, *shape))) * BRAIN.unit
    scale = np.abs(truth) * BRAIN.unit
    count = int(np.prod(common)) if common else 0
    ways = min(4, 2 ** (count - 1).bit_length()) if count else 0
    signs = np.stack([walsh(np.arange(count).reshape(common), k) for k in range(ways)]) if count else None
    effects = [(count, signs * truth * BRAIN.unit)] if signs is not None else []
    return Errors(rounded(observed, "bfloat16"), truth, scale, errors, effects, BRAIN, BRAIN.unit)


def found(data: Errors) -> Contrast | None:
    """Return the finding of a gradient, with a constant as a further regressor."""
    return first_finding(list(contrasts(data, {"": np.ones(data.truth.shape)})), Contrast.wrong_above)


def alarms(seeds: range, shape: tuple[int, int]) -> list[Any]:
    """Return the right gradients that are called wrong."""
    return [
        (seed, kind) for seed in seeds for kind in ("none", "rows", "all") if found(simulated(seed, shape, shared=kind))
    ]


@pytest.mark.parametrize("shape", [(4, 32), (16, 16), (64, 8), (1, 16)])
def test_right_gradients_raise_no_alarm(shape: tuple[int, int]) -> None:
    assert alarms(range(30), shape) == []


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4, 32), (8, 32), (16, 16), (64, 8), (1, 16), (2, 128)])
def test_thousands_of_right_gradients_raise_no_alarm(shape: tuple[int, int]) -> None:
    assert alarms(range(2000), shape) == []


@each("shared", ["none", "rows"])
@each("seed", range(5))
def test_an_error_of_scale_of_one_percent_is_found_in_128_entries(shared: str, seed: int) -> None:
    worst = found(simulated(seed, (4, 32), shared=shared, factor=1.01))
    assert worst is not None
    assert (worst.regressor, worst.index) == ("scale", ())
    assert 0.004 < worst.slope < 0.016


@pytest.mark.parametrize("seed", range(5))
def test_one_wrong_row_is_found_and_named(seed: int) -> None:
    factor = np.where(np.arange(8) == 5, 1.05, 1.0)[:, None]
    worst = found(simulated(seed, (8, 64), shared="none", factor=factor))
    assert worst is not None
    assert (worst.regressor, worst.axes, worst.index) == ("scale", (1,), (5,))


@pytest.mark.parametrize("seed", range(5))
def test_a_missing_constant_is_found(seed: int) -> None:
    worst = found(simulated(seed, (4, 32), shared="none", term=0.02))
    assert worst is not None
    assert worst.regressor == ""


def test_what_a_shared_rounding_explains_is_allowed() -> None:
    data = simulated(0, (4, 32), shared="all")
    data = replace(data, observed=data.truth)  # no two entries are rounded to the same number
    (whole,) = (each for each in contrasts(data, {}) if not each.index)
    assert whole.allowed == pytest.approx(BRAIN.unit * (1 + BRAIN.unit), rel=1e-4)
    assert SINGLE == 2.0**-9
    assert whole.limit(1) == pytest.approx(whole.allowed + student_quantile(1e-9, RUNS) * whole.error)
    assert whole.detectable(1) == pytest.approx(whole.wrong_above(1) + 1.645 * whole.error, rel=1e-3)


@pytest.mark.parametrize(
    ("shape", "groups"), [((4, 8), 1 + 4), ((8, 7), 1 + 7), ((1024, 8), 1 + 1024 + 8), ((1025, 8), 1 + 8)]
)
def test_groups_have_eight_entries_and_there_are_at_most_a_thousand(shape: tuple[int, int], groups: int) -> None:
    assert len(list(contrasts(simulated(0, shape, shared="none"), {}))) == groups


def test_noise_beyond_rounding_is_measured_in_scales() -> None:
    data = simulated(0, (16, 16), shared="none")
    size, ratios = noise(data)
    assert 0.2 < size < 1.5
    assert ratios.max() < 8
    data.observed.flat[np.argmax(np.abs(data.truth))] = 0
    _, ratios = noise(data)
    assert ratios.max() > 100
    assert ratios.argmax() == np.argmax(np.abs(data.truth))


@pytest.mark.parametrize(
    ("size", "ratio", "message"),
    [
        (7.9, 48.0, ""),
        (8.1, 48.0, "has errors that are 8 times as large as rounding explains"),
        (0.0, 50.0, "more than rounding explains"),
    ],
)
def test_errors_may_be_eight_scales_large_and_one_six_times_as_large(
    size: float, ratio: float, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = simulated(0, (4, 32), shared="none")
    monkeypatch.setattr(low_precision, "noise", lambda _: (size, np.full(data.truth.shape, ratio)))
    share, text, _ = _of_entries("x", data)
    assert text.endswith(message)
    assert (share > 1) is bool(message)


def test_entries_that_underflow_or_saturate_have_no_weight() -> None:
    data = simulated(0, (4, 32), shared="none")
    data.truth[0, :3] = 0.0, 1e-39, 3e38
    assert (data.weights[0, :3] == 0).all()
    assert (data.weights[1:] > 0).all()
    data.scale[1, 0] = 0.0
    typical = np.sqrt(np.mean(np.square(data.truth[data.weights > 0])))
    assert data.weights[1, 0] == pytest.approx((0.05 * BRAIN.unit * typical) ** -2)


def test_weights_and_invalid_entries_begin_at_a_size() -> None:
    data = simulated(0, (4, 32), shared="none")
    least, most = 2 * BRAIN.smallest_normal, BRAIN.largest / 2
    data.truth[0, :4] = least, math.nextafter(least, 0.0), most, math.nextafter(most, math.inf)
    assert (data.weights[0, :4] > 0).tolist() == [True, False, True, False]
    data.observed[1, :2] = math.inf
    data.truth[1, :2] = BRAIN.largest / 4, math.nextafter(BRAIN.largest / 4, math.inf)
    data.truth[2, :3], data.scale[2, :3] = 0.0, (0.0, 0.0, 1.0)
    negligible = 4 * BRAIN.unit * np.max(np.abs(data.truth)) + BRAIN.underflow
    data.observed[2, :3] = negligible, 1.001 * negligible, 1.001 * negligible
    assert np.argwhere(data.invalid).tolist() == [[1, 0], [2, 1]]


@pytest.mark.parametrize(("form", "seen"), [("bfloat16", True), ("float16", False)])
def test_the_contrasts_of_a_gradient(form: str, seen: bool, snapshot: Any) -> None:  # noqa: FBT001 (a case)
    data = replace(simulated(5, (9, 9), shared="rows", factor=1.002), form=FORMATS[form], seen=seen)
    data.truth[:, 0] = data.observed[:, 0] = data.observed[0, 0]
    data.truth[0, 1:3] = 0.0, 3e38
    rows = []
    for one in contrasts(data, {"x": np.linspace(-1, 1, data.truth.size).reshape(data.truth.shape)}):
        numbers = *dataclasses.astuple(one)[4:], one.limit(9), one.detectable(9)
        rows.append(f"{one.regressor} {one.axes} {one.index}: {', '.join(f'{number:.5g}' for number in numbers)}")
    size, ratios = noise(data)
    assert "\n".join([*rows, f"{size:.5g} {np.max(ratios):.5g}"]) == snapshot(extension_class=PlainText)


def hidden_errors(error: float) -> Errors:
    """Return a gradient like one under ones, whose columns are equal, with an error common to one, in scales."""
    data = simulated(0, (64, 4), shared="none")
    truth = np.broadcast_to(data.truth[:1], (64, 4)).copy()
    scale = 4 * np.abs(truth) * BRAIN.unit
    observed = truth + scale * np.array([error, 0.1, -0.1, 0.1])
    errors = np.random.default_rng(1).choice((-0.1, 0.1), (RUNS, 1, 4)) * scale
    return Errors(observed, truth, scale, errors, (), BRAIN, BRAIN.unit)


def test_equal_entries_have_equal_hidden_errors() -> None:
    data = hidden_errors(1.5)
    assert found(data) is None
    columns = [each for each in contrasts(data, {}) if each.axes == (0,)]
    assert all(each.entries < 1.5 for each in columns)
    independent = [each for each in contrasts(simulated(0, (64, 4), shared="none"), {}) if each.axes == (0,)]
    assert all(each.entries > 10 for each in independent)


@pytest.mark.parametrize(
    ("error", "inconclusive", "wrong"), [(0.5, False, False), (4.0, True, False), (12.0, True, True)]
)
def test_what_is_barely_beyond_rounding_is_inconclusive(error: float, inconclusive: bool, wrong: bool) -> None:  # noqa: FBT001 (a case)
    every = list(contrasts(hidden_errors(error), {}))
    assert (
        first_finding(every, Contrast.limit) is not None,
        first_finding(every, Contrast.wrong_above) is not None,
    ) == (
        inconclusive,
        wrong,
    )


def test_differences_of_numbers_that_are_rounded_to_the_same_one_are_lost() -> None:
    x = np.linspace(-0.5, 0.5, 32)
    truth = 1 + x * BRAIN.unit
    errors = np.broadcast_to(np.where(np.arange(RUNS) % 2, 0.1, -0.1)[:, None] * BRAIN.unit, (RUNS, 32))
    data = Errors(np.ones(32), truth, np.full(32, BRAIN.unit), errors, (), BRAIN, BRAIN.unit)
    (along,) = (each for each in contrasts(data, {"x": x}) if each.regressor == "x")
    assert along.slope == pytest.approx(-BRAIN.unit)
    assert BRAIN.unit <= along.allowed < 1.1 * BRAIN.unit


def test_the_gap_is_small_for_many_entries() -> None:
    (whole,) = (each for each in contrasts(simulated(0, (64, 8), shared="none"), {}) if not each.index)
    assert whole.limit(1) < whole.wrong_above(1) < 1.2 * whole.limit(1)


def test_roundings_of_differences_inside_of_the_function_explain_an_entry() -> None:
    data = simulated(0, (16, 16), shared="none")
    at = np.unravel_index(np.argmax(np.abs(data.truth)), data.truth.shape)
    data.observed[at] *= 1 + 200 * BRAIN.unit
    _, ratios = noise(data)
    assert ratios[at] > 100
    data.errors[:, at[0], at[1]] = np.where(np.arange(RUNS) % 2, 100, -100) * data.scale[at]
    _, ratios = noise(data)
    assert ratios[at] < 3


def test_quantiles_are_those_of_tables() -> None:
    assert normal_quantile(0.05) == pytest.approx(1.959964, abs=1e-6)
    assert student_quantile(0.05, 10) == pytest.approx(2.228, rel=5e-3)
    assert student_quantile(1e-6, 32) == pytest.approx(6.0, rel=5e-2)


@given(st.integers(0, 7), st.integers(0, 7))
@settings(deadline=None)
def test_walsh_functions_are_orthogonal(one: int, other: int) -> None:
    positions = np.arange(8)
    assert walsh(positions, one) @ walsh(positions, other) == 8 * (one == other)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((), [()]), ((5,), [(0,)]), ((1, 4), [(1,)]), ((2, 3), [(0, 1), (0,), (1,)])],
)
def test_groups_are_all_entries_and_lines_and_slices(shape: tuple[int, ...], expected: list[tuple[int, ...]]) -> None:
    assert groupings(shape) == expected
    assert len(groupings((2, 3, 4))) == 7
    assert math.prod(shape) >= 1


def test_a_single_number_has_a_slope() -> None:
    errors = 0.001 * np.random.default_rng(0).normal(size=RUNS)
    data = Errors(np.array(1.01), np.array(1.0), np.array(0.001), errors, (), BRAIN, BRAIN.unit)
    (contrast,) = contrasts(data, {})
    assert contrast.slope == pytest.approx(0.01)
