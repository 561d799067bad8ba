"""Does the soak count what it grades, go on where it was stopped, and show what it found?"""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from refgrad.generation import Choices
from refgrad.grading.judging.verdict import Finding
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import parse
from tests.benchmarks import soak, soak_page
from tests.benchmarks.graded_graphs import (
    CONDITIONS,
    Condition,
    Graded,
    detected,
    grade,
    ratio,
    scenario_of,
    sound_operators,
)

SQUARE = parse(
    "x = leaf float64[2] {0x1.8p+0 0x0p+0} requires_grad\na = square x\nl = sum a\nbackward l\nread grad x\n"
)
PLAN = soak.Plan(("refgrad",), at_kinks=False, inject_every=2)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "BLOCK", 10)


def test_a_block_counts_every_graph_once() -> None:
    line = json.loads(json.dumps(soak.run_block((0, PLAN))))
    assert soak.graphs(line) == 10
    assert line["findings"] == []
    assert set(line["outcomes"]) == {f"refgrad|{CONDITIONS[i].name}" for i in soak.TURNS}
    assert 1 <= line["injected"] <= 5
    assert line["caught"]["-6"] == line["injected"]


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    path = tmp_path / "soak.jsonl"
    path.write_text(json.dumps(soak.run_block((0, PLAN))) + "\n{cut off", encoding="utf-8")
    lines = soak.read_lines(path)
    assert [line["block"] for line in lines] == [0]
    tasks = soak._tasks({line["block"] for line in lines}, PLAN, 0)  # noqa: SLF001 (the run itself starts processes)
    assert [next(tasks)[0], next(tasks)[0]] == [1, 2]


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.name)
def test_a_scenario_follows_from_its_seed(condition: Condition) -> None:
    operators = sound_operators("refgrad")
    assert scenario_of(3, condition, operators) == scenario_of(3, condition, operators)


def test_moving_changes_every_number_a_little() -> None:
    condition = CONDITIONS[1]
    operators = sound_operators("refgrad")
    plain = scenario_of(1, replace(condition, moved=None), operators)
    for before, after in zip(plain.leaves, scenario_of(1, condition, operators).leaves, strict=True):
        if before.value.dtype != "bool":
            old, new = before.value.to_numpy(), after.value.to_numpy()
            assert np.all(new != old)
            assert np.all(np.abs(new - old) <= 1.01e-7 * np.maximum(1, np.abs(old)))


def test_the_ratio_is_error_over_budget() -> None:
    certified = CertifiedOracle(SQUARE).gradient("x", (("l", None),))
    assert ratio(np.array([3.0, 0.0]), certified) == 0
    budget = certified.budget[0] + 3 * 2.0**-53
    assert ratio(np.array([3.0 + 2.0**-40, 0.0]), certified) == pytest.approx(2.0**-40 / budget, rel=1e-6)


def test_errors_are_put_into_entries_that_are_not_zero() -> None:
    assert detected(SQUARE, "refgrad", (-2, -9, -17), Choices(0)) == ["wrong", "inaccurate", "passed"]


def test_the_reference_engine_is_graded() -> None:
    assert list(grade(SQUARE, ("refgrad",))) == [Graded("refgrad", Finding("passed", step=1), 0.0)]


def test_a_quantile_is_the_upper_end_of_its_bin() -> None:
    assert soak_page.quantile(Counter({-16: 98, 16: 2}), 0.5) == 0.5
    assert soak_page.quantile(Counter({-16: 98, 16: 2}), 0.99) == 2.0


def test_the_page_says_that_nothing_failed() -> None:
    line = json.loads(json.dumps(soak.run_block((0, PLAN))))
    text = soak_page.page([line], [line])
    assert "No: of 10 graphs none failed." in text
    assert "| refgrad | 10 | 10 | 0 | 0 | 0 |" in text
