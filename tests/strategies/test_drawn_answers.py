"""Tests of what drawn bytes mean."""

from random import Random
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import Profile, random_scenario
from refgrad.strategies import DRAWN_BYTES, SEED_BYTES, STRAY, answers_in, scenario_of

PROFILE = Profile(length=(1, 8))
BLANK = b"\xff" * DRAWN_BYTES


def answered(seed: int, answers: list[bool]) -> bytes:
    """Return bytes that hold these answers, two behind each check bit."""
    drawn = seed.to_bytes(SEED_BYTES, "big")
    for place, answer in enumerate(answers):
        if place % 2 == 0:
            drawn += bytes([crc32(drawn) & 1])
        drawn += bytes([0 if answer else 1])
    return (drawn + BLANK)[:DRAWN_BYTES]


@given(st.integers(0, 2**32 - 1), st.lists(st.booleans(), max_size=40))
def test_answers_are_read_back(seed: int, answers: list[bool]) -> None:
    assert answers_in(answered(seed, answers)) == answers


@given(st.integers(0, 2**32 - 1), st.lists(st.booleans(), min_size=1, max_size=40))
def test_a_wrong_check_bit_is_refused(seed: int, answers: list[bool]) -> None:
    drawn = bytearray(answered(seed, answers))
    drawn[SEED_BYTES] ^= 1
    assert answers_in(bytes(drawn)) is None


def test_another_seed_is_refused_behind_many_answers() -> None:
    drawn = answered(12345, [True, False] * 10)
    others = [seed.to_bytes(SEED_BYTES, "big") + drawn[SEED_BYTES:] for seed in range(200)]
    assert sum(answers_in(other) is None for other in others) >= 195


def test_random_bytes_are_valid_and_hold_no_answer() -> None:
    random = Random(0)  # noqa: S311 (no secret)
    read = [answers_in(random.randbytes(DRAWN_BYTES)) for _ in range(4000)]
    assert sum(answers is None for answers in read) < 0.01 * len(read)
    assert not any(read)


def test_many_bytes_that_could_be_answers_are_refused() -> None:
    drawn = BLANK[SEED_BYTES + STRAY :]
    assert answers_in(BLANK[:SEED_BYTES] + b"\xff" + bytes(STRAY) + drawn) == []
    assert answers_in(BLANK[:SEED_BYTES] + b"\xff" + bytes(STRAY + 1) + drawn) is None


def test_a_large_no_takes_back_two_yeses_behind_it() -> None:
    drawn = answered(1, [True, True])
    void = drawn[: SEED_BYTES + 1] + b"\x02\x00\x00" + BLANK
    assert answers_in(void[:DRAWN_BYTES]) == [False]


def test_without_answers_it_is_the_scenario_of_the_seed() -> None:
    assert scenario_of(answered(7, []), random_scenario, PROFILE) == random_scenario(7, PROFILE)


def test_every_yes_makes_it_smaller() -> None:
    sizes = [scenario_of(answered(7, [True] * count), random_scenario, PROFILE) for count in range(1, 6)]
    steps = [len(scenario.steps) for scenario in sizes if scenario is not None]
    assert len(steps) == 5
    assert steps == sorted(steps, reverse=True)
    assert steps[0] < len(random_scenario(7, PROFILE).steps)
