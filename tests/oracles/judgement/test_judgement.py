"""Is each observed array judged as it deserves, to the last bit of every boundary?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from refgrad.oracles import Certified, CertifiedOracle, judge
from refgrad.oracles.judgement import ALLOWANCE, INACCURATE_BELOW, SEVERITY, VAGUE_ABOVE, has_choices
from refgrad.scenario import parse
from refgrad.scenario.formats import FORMATS
from tests.oracles.programs import gradient_of, leaf

UNIT = 2.0**-53


def certified(truth: npt.ArrayLike, radius: npt.ArrayLike = 0.0, budget: npt.ArrayLike = 0.0) -> Certified:
    """Return intervals as the oracle would, each with its budget."""
    midpoints = np.asarray(truth, dtype=np.float64)
    radii, budgets = (np.broadcast_to(np.asarray(a, dtype=np.float64), midpoints.shape) for a in (radius, budget))
    return Certified(_balls(midpoints, radii), lambda: _balls(midpoints, budgets))


def _balls(midpoints: npt.NDArray[np.float64], radii: npt.NDArray[np.float64]) -> npt.NDArray[np.object_]:
    balls = np.empty(midpoints.size, dtype=object)
    balls[:] = [arb(float(m), float(r)) for m, r in zip(midpoints.ravel(), radii.ravel(), strict=True)]
    return balls.reshape(midpoints.shape)


def outcome(observed: npt.ArrayLike, truth: npt.ArrayLike, radius: float = 0.0, budget: float = 0.0) -> str:
    """Judge one array."""
    return judge(np.asarray(observed, dtype=np.float64), certified(truth, radius, budget)).outcome


def test_the_truth_itself_passes() -> None:
    assert outcome([1.0, -2.0], [1.0, -2.0]) == "passed"


def test_an_error_within_four_budgets_passes_and_one_beyond_is_inaccurate() -> None:
    budget = 2.0**-40
    allowed = ALLOWANCE * budget + ALLOWANCE * UNIT
    assert outcome(1.0 + 0.999 * allowed, 1.0, budget=budget) == "passed"
    assert outcome(1.0 + 1.001 * allowed, 1.0, budget=budget) == "inaccurate"


def test_without_a_budget_a_few_ulps_pass_and_more_do_not() -> None:
    assert outcome(1.0 + 2 * 2.0**-52, 1.0) == "passed"
    assert outcome(1.0 + 3 * 2.0**-52, 1.0) == "inaccurate"


def test_leading_digits_that_are_right_are_inaccurate_and_others_are_wrong() -> None:
    assert outcome(2.0 * (1 + 0.999 * INACCURATE_BELOW), 2.0) == "inaccurate"
    assert outcome(2.0 * (1 + 1.001 * INACCURATE_BELOW), 2.0) == "wrong"


def test_where_the_truth_is_zero_any_error_past_the_budget_is_wrong() -> None:
    assert outcome(0.0, 0.0) == "passed"
    assert outcome(1e-300, 0.0) == "wrong"
    assert outcome(3.9e-17, 0.0, budget=1e-17) == "passed"
    assert outcome(4.1e-17, 0.0, budget=1e-17) == "wrong"


def test_subnormal_noise_around_zero_passes() -> None:
    assert outcome(5e-324, 0.0) == "passed"
    assert outcome(2.0**-1022, 0.0) == "passed"
    assert outcome(2.0**-1021, 0.0) == "wrong"


@pytest.mark.parametrize("observed", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_wrong_where_the_truth_is_finite(observed: float) -> None:
    judgement = judge(np.array([1.0, observed]), certified([1.0, 1.0], budget=1e-15))
    assert judgement.outcome == "wrong"
    assert judgement.entry is not None
    assert judgement.entry.index == (1,)


@pytest.mark.parametrize("observed", [np.nan, np.inf, 0.0, 3.0])
def test_nothing_is_judged_where_the_truth_is_unknown(observed: float) -> None:
    assert outcome(observed, 1.0, radius=np.inf) == "inconclusive"


@pytest.mark.parametrize("observed", [np.inf, -np.inf, 1.0])
def test_nothing_is_judged_where_the_truth_exceeds_the_largest_float(observed: float) -> None:
    (gradient,) = gradient_of("exp", 800.0)
    assert judge(np.array(observed), gradient).outcome == "inconclusive"


@pytest.mark.parametrize("observed", [np.inf, -np.inf, np.nan, 1.0])
def test_an_infinity_that_is_known_passes_and_nothing_else_does(observed: float) -> None:
    oracle = CertifiedOracle(parse("x = leaf float64[2] {inf 1.0} requires_grad\n"))
    expected = "passed" if observed == np.inf else "inconclusive"
    assert judge(np.array([observed, 1.0]), oracle.value("x")).outcome == expected


@pytest.mark.parametrize("observed", [0.0, 0.25, 1.0, 1.0 + 0.9 * VAGUE_ABOVE])
def test_an_answer_within_an_open_interval_is_a_convention(observed: float) -> None:
    assert outcome(observed, 0.5, radius=0.5) == "convention"


@pytest.mark.parametrize("observed", [1.0 + 2 * VAGUE_ABOVE, -2 * VAGUE_ABOVE, 3.0, np.nan, np.inf])
def test_an_answer_outside_of_an_open_interval_is_wrong(observed: float) -> None:
    assert outcome(observed, 0.5, radius=0.5) == "wrong"


def test_what_rounding_explains_beyond_an_open_interval_is_inconclusive() -> None:
    assert outcome(1.3, 0.5, radius=0.5, budget=0.6) == "inconclusive"
    assert outcome(1.5, 0.5, radius=0.5, budget=0.6) == "wrong"


def test_a_vague_budget_passes_what_is_near_and_decides_nothing_else() -> None:
    budget = 1e-3
    assert outcome(1.0 + 1e-7, 1.0, budget=budget) == "passed"
    assert outcome(1.0 + 1e-5, 1.0, budget=budget) == "inconclusive"
    assert outcome(1.0 + 5e-3, 1.0, budget=budget) == "wrong"


@pytest.mark.parametrize(
    ("operator", "arrays", "legal", "illegal"),
    [
        ("relu", [0.0], [0.0, 0.5, 1.0], [2.0, -0.5]),
        ("abs", [0.0], [-1.0, 0.0, 1.0], [1.5, -2.0]),
        ("maximum", [1.5, 1.5], [0.0, 0.5, 1.0], [1.5, -1.0]),
    ],
)
def test_at_a_kink_conventions_are_told_from_mistakes(
    operator: str, arrays: list[float], legal: list[float], illegal: list[float]
) -> None:
    gradient = gradient_of(operator, *arrays)[0]
    assert {judge(np.array(x), gradient).outcome for x in legal} == {"convention"}
    assert {judge(np.array(x), gradient).outcome for x in illegal} == {"wrong"}


def test_another_shape_is_wrong_and_has_no_worst_entry() -> None:
    judgement = judge(np.ones((1, 2)), certified([1.0, 1.0]))
    assert judgement.outcome == "wrong"
    assert judgement.entry is None
    assert judge(np.ones((0, 2)), certified(np.ones((2, 0)))).outcome == "wrong"


def test_arrays_without_entries_pass() -> None:
    assert judge(np.ones((0, 2)), certified(np.ones((0, 2)))).outcome == "passed"


def test_integers_and_booleans_are_compared_as_numbers() -> None:
    assert judge(np.array([1, 2]), certified([1.0, 2.0])).outcome == "passed"
    assert judge(np.array([True]), certified([0.0])).outcome == "wrong"


def test_float32_is_judged_by_its_own_roundoff() -> None:
    observed = np.array(1.0 / 3.0, dtype=np.float32)
    truth = certified(1.0 / 3.0)
    assert judge(observed, replace(truth, form=FORMATS["float32"])).outcome == "passed"
    assert judge(observed, truth).outcome == "inaccurate"


def test_the_worst_outcome_decides_and_its_worst_entry_is_shown() -> None:
    truth = certified([1.0, 1.0, 1.0, 1.0])
    judgement = judge(np.array([1.0, 1.0 + 1e-9, 1.5, 3.0]), truth)
    assert judgement.outcome == "wrong"
    assert judgement.entry is not None
    assert (judgement.entry.index, judgement.entry.observed) == ((3,), 3.0)


def test_an_entry_is_described_in_one_line() -> None:
    judgement = judge(np.array([[6.0, 4.0]]), certified([[6.0, 6.0]], budget=1e-15))
    assert judgement.entry is not None
    assert judgement.entry.describe().startswith(
        "entry (0, 1): 4.0, but the truth is 6.0000000000000000 (relative error 3.3e-01, "
    )
    assert judge(np.array(1.0), certified(0.0)).entry is not None


def test_a_choice_is_described_with_the_legal_answers() -> None:
    (gradient,) = gradient_of("relu", [0.0])
    judgement = judge(np.array([0.5]), gradient)
    assert judgement.entry is not None
    assert judgement.entry.describe_choice() == "entry (0,): 0.5, of the legal answers in [0, 1]"


@given(size=st.integers(1, 2000), place=st.integers(0, 10_000), error=st.sampled_from([1e-12, 1e-9, 1e-4, 1.0]))
def test_no_tolerance_grows_with_the_size_of_the_array(size: int, place: int, error: float) -> None:
    """One wrong entry is judged the same among 1 or 2,000, however large the others are."""
    truth = np.linspace(-1e6, 1e6, size)
    truth[place % size] = 1.0
    observed = truth.copy()
    observed[place % size] += error
    alone = judge(np.array([1.0 + error]), certified([1.0], budget=1e-16))
    among = judge(observed, certified(truth, budget=1e-16))
    assert among.outcome == alone.outcome != "passed"
    assert among.entry is not None
    assert among.entry.index == (place % size,)


@given(
    truth=st.floats(-1e100, 1e100),
    budget=st.floats(0, 1e3),
    errors=st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)).map(sorted),
)
def test_a_larger_error_is_never_judged_more_kindly(truth: float, budget: float, errors: list[float]) -> None:
    near, far = (outcome(truth + error, truth, budget=budget) for error in errors)
    if "inconclusive" not in (near, far):
        assert SEVERITY.index(far) <= SEVERITY.index(near)


def test_an_error_that_the_sum_of_two_gradients_explains_passes() -> None:
    """The budget is that of the sum: 1e16 - 1e16 + 1 may well come out as 0 or 2."""
    text = leaf("x", 1.0) + leaf("big", 1e16, requires_grad=False) + leaf("less", 1.0 - 1e16, requires_grad=False)
    scenario = parse(text + "a = multiply x big\nb = multiply x less\nl = add a b\nbackward l\n")
    gradient = CertifiedOracle(scenario).gradient("x", (("l", None),))
    assert judge(np.array(2.0), gradient).outcome in {"passed", "inconclusive"}
    assert judge(np.array(40.0), gradient).outcome == "wrong"


def test_thresholds_are_these_numbers() -> None:
    """A relative error of 1e-5, and 1e-6 beyond an interval: no test that reads the constants sees them change."""
    assert outcome(2.0 * (1 + 0.9e-5), 2.0) == "inaccurate"
    assert outcome(2.0 * (1 + 1.1e-5), 2.0) == "wrong"
    assert outcome(1.0 + 0.9e-6, 0.5, radius=0.5) == "convention"
    assert outcome(1.0 + 1.1e-6, 0.5, radius=0.5) == "wrong"
    assert outcome(1.0 + 3.9e-12, 1.0, budget=1e-12) == "passed"
    assert outcome(1.0 + 4.1e-12, 1.0, budget=1e-12) == "inaccurate"


@pytest.mark.parametrize(("radius", "expected"), [(0.9e-6, "passed"), (1.1e-6, "convention")])
def test_an_interval_of_a_millionth_is_one_of_choices(radius: float, expected: str) -> None:
    assert outcome(1.0 + 0.9 * radius, 1.0, radius=radius) == expected


@pytest.mark.parametrize(("end", "told"), [(0.9e-6, "0"), (1e-6, "1e-06"), (1.1e-6, "1.1e-06")])
def test_an_end_of_an_interval_is_told_as_zero_below_a_millionth(end: float, told: str) -> None:
    radius = 2.0**-21
    entry = judge(np.array(5.0), certified(end + radius, radius)).entry
    assert entry is not None
    assert entry.lower == told


def test_an_interval_around_zero_that_is_narrower_than_a_millionth_is_told_as_zero() -> None:
    entry = judge(np.array(5.0), certified(0.0, 2.0**-21)).entry
    assert entry is not None
    assert (entry.lower, entry.upper) == ("0", "0")


@pytest.mark.parametrize("size", [0.0, 1.0, 1e6])
@pytest.mark.parametrize(("share", "several"), [(0.1, False), (10.0, True)])
def test_an_interval_is_a_choice_from_the_width_on_that_is_no_longer_vague(
    size: float, share: float, *, several: bool
) -> None:
    radius = share * VAGUE_ABOVE * max(1.0, size)
    assert has_choices(certified(np.array([size]), np.array([radius]), np.zeros(1))).tolist() == [several]
