"""A scenario of somebody's file is evaluated in bounded time and memory, and is refused where that is not enough."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from refgrad.grading.checks.check import FOLDER, regressions
from refgrad.interpreter import ScenarioEvaluationError, bounded_values, composites, float64_values
from refgrad.operators import operator_table
from refgrad.scenario import parse
from refgrad.specification import specs_directory
from tests.effort import each

SCALAR = "a = leaf float64[] {0x1p+0}\n"
VECTOR = SCALAR + "b = broadcast_to a shape=(100000,)\n"
ROW = SCALAR + "b = broadcast_to a shape=(1, 90000)\n"
MATRICES = SCALAR + "b = broadcast_to a shape=(90000, 1)\nc = broadcast_to a shape=(1, 90000)\n"

LARGE = {
    "tile": SCALAR + "b = tile a reps=(900000000,)",
    "tile twice": VECTOR + "c = tile b reps=(90000,)",
    "repeat": VECTOR + "c = repeat b repeats=100000",
    "pad": SCALAR + "b = reshape a shape=(1,)\nc = pad b pad_width=((0, 900000000),)",
    "broadcast_to": SCALAR + "b = broadcast_to a shape=(900000000,)",
    "expand": SCALAR + "b = expand a shape=(900000000,)",
    "add_at": SCALAR + "b = add_at a shape=(900000000,) index=(0,)",
    "add": MATRICES + "d = add b c",
    "matmul": MATRICES + "d = matmul b c",
    "outer": VECTOR + "c = outer b b",
    "diag": VECTOR + "c = diag b",
    "diag_embed": SCALAR + "b = reshape a shape=(1,)\nc = diag_embed b offset=90000 axes=(0, 1)",
    "meshgrid": VECTOR + "c = meshgrid b b",
    "block_diag": MATRICES + "d = block_diag b c",
    "convolve": VECTOR + 'c = convolve b b mode="full"',
    "take": ROW + f"c = take b axis=0 indices=({'0, ' * 5000})",
    "index": ROW + f"c = index b index=(({'0, ' * 5000}),)",
    "many": VECTOR + "".join(f"c{n} = add b b\n" for n in range(200)),
}


@each("name", LARGE)
def test_what_would_fill_memory_is_refused_before_it_does(name: str) -> None:
    scenario = parse(LARGE[name])
    tracemalloc.start()
    try:
        with pytest.raises(ScenarioEvaluationError, match=r"entries (in all )?are too many") as caught:
            bounded_values(scenario)
        assert tracemalloc.get_traced_memory()[1] < 300_000_000
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)


def test_the_steps_of_a_composite_have_at_most_twice_as_many_entries_as_an_array(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(composites, "LARGEST", 8)
    notes = composites.Notes(bounded=True)
    notes.constant(np.zeros(16))
    with pytest.raises(ValueError, match="17 entries are too many; there may be 16"):
        notes.constant(0.0)


def test_the_shapes_of_scenarios_that_engines_failed_are_those_of_the_unbounded_evaluation() -> None:
    chapters = [path.stem for path in (specs_directory() / FOLDER).glob("*.toml")]
    scenarios = [each for name in operator_table() for chapter in chapters for each in regressions(f"{chapter}/{name}")]
    assert len(scenarios) > 100
    for scenario in scenarios:
        bounded, values = bounded_values(scenario), float64_values(scenario)
        assert {name: each.shape for name, each in bounded.items()} == {n: each.shape for n, each in values.items()}
