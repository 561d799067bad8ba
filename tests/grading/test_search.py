"""A check passes only what it decided, and takes no failure back."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from refgrad.facts import Entry, Lacks, Subject, Tally
from refgrad.generation.search import Counterexample
from refgrad.grading.bench import Bench
from refgrad.grading.judging.verdict import Finding, Outcome
from refgrad.grading.search import CheckSearch
from refgrad.grading.settings import Settings
from refgrad.native.engine import Engine
from refgrad.native.runner import ProcessRunner
from refgrad.scenario import parse
from tests.grading.broken import CHECKS, bench, engine, verdict
from tests.grading.sparing import TrustingBench

pytestmark = pytest.mark.turns(2)

SCENARIO = parse("x = leaf float64[] {0x1p+0} requires_grad\na = exp x\nbackward a\n")

NOW_AND_THEN = """
runs = [0]
def now_and_then(x):
    runs[0] += 1
    return torch.exp(x) * (1.5 if runs[0] % {period} == 0 else 1.0)
"""


@pytest.mark.parametrize("period", [7, 11, 23])
def test_a_failure_that_does_not_repeat_is_reported_with_its_frequency(period: int) -> None:
    result = verdict(bench(NOW_AND_THEN.format(period=period), operators={"exp": "now_and_then({x})"}), "operators/exp")
    assert result.verdict == "wrong"
    assert result.evidence is not None
    assert not result.evidence.repeatable
    assert 1 <= result.evidence.seen < result.evidence.runs
    assert result.scenario
    assert f"seen in {result.evidence.seen} of {result.evidence.runs} runs" in result.message


def test_a_failure_that_always_occurs_is_repeatable_and_small() -> None:
    result = verdict(bench(operators={"exp": "torch.exp({x}) * 1.5"}), "operators/exp")
    assert (result.verdict, result.evidence is not None and result.evidence.repeatable) == ("wrong", True)
    assert "not repeatable" not in result.message


SPOILED = """
told = {"cosh": 0}
def spoiling(x):
    told["cosh"] += 1
    return torch.cosh(x)
def spoiled(x):
    return torch.sinh(x) * (1.5 if told["cosh"] else 1.0)
"""


def test_a_failure_caused_by_another_program_of_the_process_is_not_repeatable() -> None:
    spellings = {"cosh": "spoiling({x})", "sinh": "spoiled({x})"}
    runner = ProcessRunner(engine(SPOILED, operators=spellings).adapter)
    tried = Bench(Engine(runner.adapter, runner), Settings("smoke"))
    try:
        others, result = verdict(tried, "operators/cosh"), verdict(tried, "operators/sinh")
    finally:
        runner.stop()
    assert (others.verdict, result.verdict) == ("passed", "wrong")
    assert result.evidence is not None
    assert (result.evidence.seen, result.evidence.runs) == (1, 5)


TWICE = """
import os, pathlib
def twice(x):  # where the runner met it, and where it looks whether that was the scenario's doing
    path = pathlib.Path({path!r})
    ended = len(path.read_text()) if path.exists() else 0
    if ended < 2:
        path.write_text("." * (ended + 1))
        os.abort()
    return torch.arcsinh(x)
"""


def test_a_process_that_does_not_end_again_is_reported_with_its_frequency(tmp_path: Path) -> None:
    adapter = engine(TWICE.format(path=str(tmp_path / "ended")), operators={"arcsinh": "twice({x})"}).adapter
    runner = ProcessRunner(adapter)
    try:
        result = verdict(Bench(Engine(adapter, runner), Settings("smoke")), "operators/arcsinh")
    finally:
        runner.stop()
    assert (result.verdict, result.evidence and (result.evidence.seen, result.evidence.runs)) == ("crashed", (1, 2))
    assert "for _ in range(rounds)" in str(result.reproduction)


def test_a_process_that_ends_again_is_reported_as_repeatable() -> None:
    adapter = engine("import os\n", operators={"exp": "os.abort() or torch.exp({x})"}).adapter
    runner = ProcessRunner(adapter)
    try:
        result = verdict(Bench(Engine(adapter, runner), Settings("smoke")), "operators/exp")
    finally:
        runner.stop()
    assert (result.verdict, result.evidence and result.evidence.repeatable) == ("crashed", True)
    assert "for _ in range(rounds)" not in str(result.reproduction)


INEXACT = """
def inexact(x):
    return torch.exp(x) * torch.tensor(1 + np.where(x.detach().numpy() > {bound}, 1e-8, 1e-12))
"""


@pytest.mark.parametrize("bound", [-2.0, 0.0, 2.0])
def test_an_inaccuracy_is_reported_where_it_is_large(bound: float) -> None:
    engine = bench(INEXACT.format(bound=bound), "standard", operators={"exp": "inexact({x})"})
    result = verdict(engine, "operators/exp")
    assert result.verdict == "inaccurate"
    assert result.evidence is not None
    assert isinstance(result.evidence.fact, Entry)
    assert 1e-9 < float(result.evidence.fact.relative_error) < 1e-7


SELDOM = """
runs = [0]
def seldom(x):
    runs[0] += 1
    if runs[0] % {period}:
        raise NotImplementedError("not this time")
    return torch.exp(x)
"""


@pytest.mark.parametrize(("period", "outcome"), [(1, "passed"), (40, "unsupported")])
def test_a_check_that_decided_almost_nothing_does_not_pass(period: int, outcome: str) -> None:
    result = verdict(bench(SELDOM.format(period=period), "standard", operators={"exp": "seldom({x})"}), "operators/exp")
    assert result.verdict == outcome


def test_undecided_scenarios_are_drawn_again_before_a_check_gives_up() -> None:
    result = verdict(bench(), "edges/xlogy")
    assert result.verdict in {"passed", "convention"}
    assert result.evidence is not None
    assert isinstance(result.evidence.fact, Tally)
    assert result.examples > bench().settings.effort["edges"]


def test_masked_entries_are_missing() -> None:
    masked = "np.ma.masked_all({leaf}.grad.shape) if {leaf}.grad is not None else None"
    result = verdict(bench(gradient=masked), "operators/exp")
    assert result.verdict == "missing"
    assert "masked" in result.message
    right = "np.ma.array({leaf}.grad.detach().numpy(), mask=True) if {leaf}.grad is not None else None"
    assert verdict(bench(gradient=right), "operators/exp").verdict == "missing"


def search(examples: int = 10) -> CheckSearch:
    return CheckSearch(bench(), CHECKS["operators/exp"], lambda _seed: SCENARIO, examples)


@pytest.mark.parametrize(
    ("outcome", "ended", "exhausted"),
    [("crashed", 5, False), ("crashed", 6, True), ("hung", 2, False), ("hung", 3, True)],
)
def test_a_check_ends_after_six_processes_that_died_or_three_that_hung(
    outcome: Outcome, ended: int, *, exhausted: bool
) -> None:
    searching = search()
    searching.outcomes[outcome] += 1
    searching.endings = searching.bench.engine.runner.endings - ended
    assert searching.is_exhausted is exhausted


def inaccurate(budgets: float) -> Finding:
    entry = Entry(
        subject=Subject("gradient", "x"),
        index=(),
        observed="1",
        lower="0",
        upper="0",
        relative_error="1",
        budgets=str(budgets),
        ulps="1",
    )
    return Finding("inaccurate", entry)


@pytest.mark.parametrize(("times", "scenarios"), [(9, 1), (11, 2)])
def test_an_inaccuracy_ten_times_as_large_is_another_fault(
    monkeypatch: pytest.MonkeyPatch, times: int, scenarios: int
) -> None:
    larger = parse("x = leaf float64[] {0x1p+1} requires_grad\na = exp x\nbackward a\n")
    monkeypatch.setattr(CheckSearch, "fails", lambda searching, scenario: scenario in searching.failed)
    monkeypatch.setattr(CheckSearch, "drawn", lambda *_: (None, 0))
    monkeypatch.setattr(
        CheckSearch, "shrunk", lambda _searching, scenario, _fails: Counterexample(0, scenario, scenario)
    )
    searching = search()
    searching.failed |= {SCENARIO: inaccurate(5), larger: inaccurate(5 * times)}
    assert 1 + len(searching.run([SCENARIO, larger]).further) == scenarios


@pytest.mark.parametrize(("part", "as_bad"), [(0.49, False), (0.51, True)])
def test_a_smaller_scenario_shows_at_least_half_of_an_inaccuracy(*, part: float, as_bad: bool) -> None:
    searching = search()
    smaller = parse("x = leaf float64[] {0x1p+1} requires_grad\na = exp x\nbackward a\n")
    searching.failed |= {SCENARIO: inaccurate(5), smaller: inaccurate(5 * part)}
    assert searching.is_as_bad(smaller, SCENARIO) is as_bad


@pytest.mark.parametrize(("decided", "rounds"), [(0, 2), (1, 16), (5, 1)])
def test_scenarios_are_drawn_sixteen_times_at_most_and_twice_if_none_is_decided(
    monkeypatch: pytest.MonkeyPatch, decided: int, rounds: int
) -> None:
    seeds: list[int] = []

    def drawn(searching: CheckSearch, _fails: object, offset: int, examples: int) -> tuple[None, int]:
        searching.outcomes["inconclusive"] += 10
        searching.outcomes["passed"] = decided
        seeds.append(offset)
        return None, examples

    monkeypatch.setattr(CheckSearch, "drawn", drawn)
    assert search().run(()).examples == 10 * rounds
    assert len(set(seeds)) == rounds


@pytest.mark.parametrize(
    ("finding", "refused"),
    [
        (Finding("unsupported"), 1),
        (Finding("unsupported", Lacks(names=("exp",))), 0),
        (Finding("passed"), 0),
        (Finding("wrong"), 0),
    ],
)
def test_only_what_an_engine_refuses_without_saying_so_is_counted(finding: Finding, refused: int) -> None:
    runner = SimpleNamespace(endings=0, hangs=0)
    stub: Any = SimpleNamespace(
        engine=SimpleNamespace(runner=runner),
        examine=lambda *_: finding,
        reliance=SimpleNamespace(runnable=lambda _: False),
    )
    check: Any = SimpleNamespace(operator_name="")
    search = CheckSearch(stub, check, lambda _: SCENARIO, 0)
    assert not search.fails(SCENARIO)
    assert search.refused == refused


BEHIND_OTHERS = """
def behind_others(x, function):  # wrong where its operand was computed
    return function(x) if x.is_leaf else function(x) + 0.5 * (x - x.detach())
"""


def test_a_graph_is_found_that_fails_without_the_operator_that_failed_first() -> None:
    operators = {name: f"behind_others({{x}}, torch.{name})" for name in ("sin", "exp")}
    broken = engine(BEHIND_OTHERS, only={"add", "multiply", "relu6", "sum", *operators}, operators=operators)
    trusting = TrustingBench(broken, Settings("smoke"))
    found = verdict(trusting, "graphs/several_backwards")
    failed = (parse(text).operators for text in (found.scenario, *(each.scenario for each in found.further)))
    assert sorted("".join(operators.keys() & each) for each in failed) == sorted(operators)
