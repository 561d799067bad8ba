"""Tests of where the limits of growth lie: what is steep, what is too fast to tell, and how it is told."""

import pytest

from refgrad.grading.measurements.growth import Growth, measure


def growth(exponent: float, seconds: float = 1.0, sizes: tuple[int, ...] = (1000, 2000, 4000, 8000)) -> Growth:
    """Times that grow with a power of the size, the last of which takes so many seconds."""
    return Growth({size: seconds * (size / sizes[-1]) ** exponent for size in sizes})


@pytest.mark.parametrize(("exponent", "steep"), [(1.45, False), (1.55, True)])
def test_what_is_nearer_to_quadratic_than_to_linear_is_steep(exponent: float, *, steep: bool) -> None:
    assert growth(exponent).steep is steep


@pytest.mark.parametrize(("shortest", "known"), [(0.0021, True), (0.0019, False)])
def test_times_of_two_milliseconds_count(shortest: float, *, known: bool) -> None:
    times = growth(2.0, seconds=16 * shortest, sizes=(2000, 4000, 8000))
    assert (times.exponent is not None) is known


def test_the_four_largest_sizes_count() -> None:
    flat = dict.fromkeys((10, 20, 40, 80), 0.01)
    assert Growth(flat | growth(2.0).times).exponent == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("exponent", "description"),
    [(2.9, "time grows about as n^3"), (3.6, "time grows faster than n^3"), (1.0, "time grows no faster than about n")],
)
def test_exponents_are_distinguished_up_to_three(exponent: float, description: str) -> None:
    assert growth(exponent).described == description


@pytest.mark.parametrize(
    ("times", "limit", "measured"),
    [
        ((1.0, 0.9, 0.9), 0.93, 3),  # foreseen are 0.9 seconds, and 0.964 if they were to grow by a tenth of a power
        ((1.0, 2.0, 4.0), 4.1, 3),
        ((1.0, 2.0, 4.0), 3.9, 2),
        ((1.0, 4.0, 16.0), 16.1, 3),
        ((1.0, 4.0, 16.0), 15.9, 2),
        ((0.0, 0.0019, 9.0), 0.002, 3),
        ((0.0, 0.0025, 9.0), 6.5, 3),  # 0.0025 seconds times 2,500
        ((0.0, 0.0025, 9.0), 6.0, 2),
        ((0.0, 0.002, 9.0), 3.9, 2),
    ],
)
def test_a_size_that_would_take_too_long_is_left_out(times: tuple[float, ...], limit: float, measured: int) -> None:
    sizes = dict(zip((1000, 2000, 4000), times, strict=True))
    assert len(measure(sizes.__getitem__, tuple(sizes), limit).times) == measured


@pytest.mark.parametrize(("seconds", "calls"), [([1, 1, 1], [1, 2, 4]), ([1, 4, 1, 2, 4], [1, 2, 1, 2, 4])])
def test_a_size_that_would_just_fit_is_measured(seconds: list[float], calls: list[int]) -> None:
    measured: list[int] = []

    def run(size: int) -> float:
        measured.append(size)
        return seconds[len(measured) - 1]

    assert measure(run, (1, 2, 4), limit=seconds[-1]).left_out is None
    assert measured[: len(calls)] == calls


def test_a_time_that_was_short_by_chance_makes_no_growth_steep() -> None:
    usual = {100: 0.1, 200: 0.2, 800: 0.8}
    rounds = iter([usual | {100: 0.004, 200: 0.04}, dict(usual), dict(usual)])
    times: dict[int, float] = {}

    def run(size: int) -> float:
        if size not in times:
            times.update(next(rounds))
        return times.pop(size)

    assert measure(run, tuple(usual), limit=100.0).times == usual
