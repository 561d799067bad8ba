"""Hypothesis strategies for scenarios, to test an engine, and for points at which functions are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt
from hypothesis import reject
from hypothesis import strategies as st

from refgrad.generation import (
    LIFECYCLE,
    GenerationError,
    Profile,
    lifecycle_profile,
    lifecycle_scenario,
    random_scenario,
    shrink,
)
from refgrad.generation.profile import COUNTS, MAGNITUDES
from refgrad.generation.repair import evaluated
from refgrad.generation.shrinking import Question, first_question, with_short_names
from refgrad.operators import operator_table
from refgrad.scenario import Scenario

__all__ = ["GenerationError", "Profile", "lifecycle_profile", "lifecycles", "points", "scenarios", "shrink"]


def points(
    shapes: Sequence[tuple[int | str, ...]], dtypes: Sequence[str] = ("float64",), block: int = 1
) -> st.SearchStrategy[tuple[npt.NDArray[Any], ...]]:
    """Return a strategy for tuples of NumPy arrays, one for each shape, all of one of the dtypes.

    Entries are zero, edges of the operators of the table and numbers next to them, equal to each other, or any number
    of an ordinary size. An axis of a shape may be a name: ``[("n", 4), ("n",)]``. Its length is drawn from those at
    which kernels that work in blocks of ``block`` have a tail: 1, and one less or more than a multiple.
    """
    names = sorted({axis for shape in shapes for axis in shape if isinstance(axis, str)})
    lengths = st.fixed_dictionaries({name: st.sampled_from(tails(block)) for name in names})

    def arrays(drawn: tuple[dict[str, int], str]) -> st.SearchStrategy[tuple[npt.NDArray[Any], ...]]:
        sizes_of, dtype = drawn
        sizes = (tuple(sizes_of[axis] if isinstance(axis, str) else axis for axis in shape) for shape in shapes)
        return st.tuples(*(_arrays(size, dtype) for size in sizes))

    return st.tuples(lengths, st.sampled_from(sorted(dtypes))).flatmap(arrays)


def tails(block: int) -> list[int]:
    """Return lengths around the multiples of a block, the shortest first."""
    return sorted({1, *(n for k in (1, 2) for n in (k * block - 1, k * block, k * block + 1) if n > 0)})


def _arrays(shape: tuple[int, ...], dtype: str) -> st.SearchStrategy[npt.NDArray[Any]]:
    size = int(np.prod(shape))
    if size > COUNTS["shrunk_entries"]:
        seeds, most = st.integers(0, 2**32 - 1), MAGNITUDES["ordinary"]
        return seeds.map(lambda seed: np.random.default_rng(seed).uniform(-most, most, shape).astype(dtype))
    pools = st.lists(_numbers(), min_size=1, max_size=COUNTS["pool"]).flatmap(
        lambda pool: st.lists(st.sampled_from(pool), min_size=size, max_size=size)
    )
    entries = st.one_of(st.lists(_numbers(), min_size=size, max_size=size), pools)
    return entries.map(lambda numbers: np.array(numbers, dtype).reshape(shape))


@cache
def _numbers() -> st.SearchStrategy[float]:
    edges, offset = st.sampled_from(_edges()), MAGNITUDES["next_to_edge"]
    largest, ordinary = MAGNITUDES["largest_exponent"], MAGNITUDES["ordinary"]
    sizes = st.floats(-largest, largest).map(lambda exponent: 2.0**exponent)
    return st.one_of(
        st.floats(-ordinary, ordinary),
        edges,
        st.tuples(edges, st.sampled_from([-offset, offset])).map(sum),
        st.tuples(st.sampled_from([-1.0, 1.0]), sizes).map(lambda pair: pair[0] * pair[1]),
    )


@cache
def _edges() -> tuple[float, ...]:
    """Return the numbers at which operators of the table have edges, the simplest first."""
    numbers = {
        float(number)
        for row in operator_table().values()
        for edge in row.edges
        for example in edge.examples
        for number in example.values()
        if abs(number) <= 2.0 ** MAGNITUDES["largest_exponent"]
    }
    return tuple(sorted(numbers | {0.0, 1.0, -1.0}, key=lambda number: (abs(number), number < 0)))


Make: TypeAlias = Callable[[int, Profile], Scenario]

SEED_BYTES: Final = 4
"""Number of bytes of the seed. Ten thousand examples hardly ever repeat a seed, and few bytes are shrunk quickly."""

DRAWN_BYTES: Final = 100
"""Number of bytes that are drawn: three times those that the answers of a usual shrink need."""

YES, NO, LAST_NO = 0, 1, 3
"""Bytes for a yes, for a no, and the largest one that is a no; larger ones end the answers."""

VOID: Final = 2
"""Number of yeses that are ignored after a no that is larger than :data:`NO`."""

CHECKED: Final = 3
"""Number of bytes in a group. The first of each group is not an answer but the check bit of all bytes before it."""

STRAY: Final = 5
"""Largest number of bytes after the last answer that could be answers. One of 200 draws has more."""

REMEMBERED: Final = 16
"""Number of seeds whose descents are cached, since hypothesis tries one again and again while it shrinks."""

SHORT: Final = Profile(length=(1, 8))
"""Default profile: short scenarios, since a test runs many."""


def scenario_of(drawn: bytes, make: Make, profile: Profile) -> Scenario | None:
    """Return the scenario of a seed, simplified according to the answers, or None if the bytes are not valid.

    Raises GenerationError where ``make`` does.
    """
    answers = answers_in(drawn)
    if answers is None:
        return None
    seed = int.from_bytes(drawn[:SEED_BYTES], "big")
    return _simplified(seed, answers, make, profile) if any(answers) else _built(seed, make, profile)


def answers_in(drawn: bytes) -> list[bool] | None:
    """Return the answers after the seed, or None if a check bit is wrong or too many bytes after them could be answers.

    Random bytes almost never contain an answer. Check bits reject other seeds and changed answers at once, which would
    otherwise cost a descent each. A no above ``NO`` undoes what hypothesis did to several bytes at once, before it
    reached the first of them.
    """
    answers: list[bool] = []
    void = 0
    for at in range(SEED_BYTES, len(drawn)):
        byte = drawn[at]
        if byte > LAST_NO:
            return answers if sum(map(drawn[at:].count, range(LAST_NO + 1))) <= STRAY else None
        if byte == YES and void:
            void -= 1
            continue
        void = VOID if byte > NO else 0
        if (at - SEED_BYTES) % CHECKED:
            answers.append(byte == YES)
        elif byte <= NO and byte != crc32(drawn[:at]) & 1:
            return None
    return answers


def _simplified(seed: int, answers: Sequence[bool], make: Make, profile: Profile) -> Scenario:
    smallest, question = _built(seed, make, profile), _first_question(seed, make, profile)
    for answer in answers:
        if question is None:
            break
        if answer:
            smallest = question.scenario
        question = question.after(answer)
    return with_short_names(smallest)


@lru_cache(maxsize=REMEMBERED)
def _built(seed: int, make: Make, profile: Profile) -> Scenario:
    return make(seed, profile)


@lru_cache(maxsize=REMEMBERED)
def _first_question(seed: int, make: Make, profile: Profile) -> Question | None:
    start = evaluated(_built(seed, make, profile))
    return None if start is None else first_question(start)


def scenarios(profile: Profile = SHORT) -> st.SearchStrategy[Scenario]:
    """Return a hypothesis strategy for scenarios within a profile.

    Every scenario evaluates in float64, runs backward at least once, and ends by reading the gradient of every leaf
    that requires one and the value of every output::

        @given(scenarios(Profile(operators=frozenset({"add", "tanh"}), seeds=False)))
        def test_my_engine_agrees(scenario): ...

    A failing example is shrunk as :func:`refgrad.strategies.shrink` does it, and printed as ``parse(...)`` of its text,
    which can be pasted into ``@example``. The shrunk example need not be within the profile: it may have fewer reads
    and shorter arrays.
    """
    return _drawn(random_scenario, profile)


def lifecycles(profile: Profile = LIFECYCLE) -> st.SearchStrategy[Scenario]:
    """Return a hypothesis strategy for lifecycles within a profile. They are shrunk and printed as scenarios are."""
    return _drawn(lifecycle_scenario, profile)


@st.composite
def _drawn(draw: st.DrawFn, make: Make, profile: Profile) -> Scenario:
    drawn = draw(st.binary(min_size=DRAWN_BYTES, max_size=DRAWN_BYTES))
    try:
        scenario = scenario_of(drawn, make, profile)
    except GenerationError:
        reject()
    return reject() if scenario is None else scenario
