"""Tests of how long a check takes, and of what it says that it looked at."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking import deadline as deadlines
from refgrad.checking.check import GradientCheck
from refgrad.checking.deadline import Deadline
from refgrad.checking.explanation import simplified
from refgrad.checking.libraries.torch_tensors import TorchTensors
from refgrad.checking.report import GradientReport
from refgrad.checking.subject import CheckedFunction
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.oracles import Discrepancy
from refgrad.oracles.slopes.claim import CHANCE_TO_MISS
from refgrad.oracles.slopes.directions import FULL_INPUTS, OutOfTime
from refgrad.strategies import points
from tests.checking.own_functions import own

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = [pytest.mark.engines, pytest.mark.turns(2)]

SLACK = 20.0
"""Seconds of processor time that may be added: several threads compute at a time, and the last call ends."""


def matrices(*, wrong: bool) -> Any:
    """Return the product of matrices with a rule of its own."""

    class Product(torch.autograd.Function):  # type: ignore[misc]
        """The product."""

        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x @ y

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            x, y = ctx.saved_tensors
            first = cotangents[0] @ y.t()
            if wrong:
                first[17, 23] *= 1.01
            return first, x.t() @ cotangents[0]

    return Product.apply


class Countdown(Deadline):
    """A deadline after so many calls and backwards."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def refuse(self) -> None:
        self.most -= 1
        if self.most < 0:
            raise OutOfTime


def outcome_of(subject: CheckedFunction) -> str:
    """Return the outcome of the check of a function by differences."""
    with subject.random_state.kept():
        try:
            found = GradientCheck(subject, np.random.default_rng(0), 0.0, "differences").run()
        except OutOfTime:
            return "inconclusive"
    return found.outcome if isinstance(found, GradientReport) else "wrong"


@pytest.mark.parametrize(("size", "wrong"), [(300, False), (300, True), (30, True)])
def test_a_product_of_large_matrices_ends_within_the_budget(size: int, *, wrong: bool) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(size, size, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    before = time.process_time()
    report = check_gradients(matrices(wrong=wrong), inputs, raise_exception=False, budget=5)
    assert time.process_time() - before < 5 + SLACK
    assert report.outcome == ("wrong" if wrong else "right")
    assert size != 30 or (report.discrepancy is not None and report.discrepancy.entry == (17, 23))


def test_a_check_whose_time_is_used_up_says_so() -> None:
    def sleeping(x: Any) -> Any:
        time.sleep(0.05)
        return x * x

    report = check_gradients(sleeping, torch.ones(3, dtype=torch.float64), budget=0.01, raise_exception=False)
    assert (report.outcome, report.cause) == ("inconclusive", "time")
    assert not report
    assert "raise the budget" in str(report)


COST, BUDGET = 0.05, 0.3
"""Seconds of processor time that a call of a slow function takes, and that its check may take."""


def slow(factor: float = 1.0, *, opaque: bool = False, backward_cost: float = 0.0) -> Any:
    """Return a slow function of any number of inputs, whose gradient is right up to a factor."""

    def burn(seconds: float) -> None:
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass

    class Slow(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            burn(COST)
            ctx.save_for_backward(*inputs)
            sines = [torch.from_numpy(np.sin(x.detach().numpy())) if opaque else torch.sin(x) for x in inputs]
            return sum(sines)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            burn(backward_cost)
            return tuple(factor * cotangents[0] * torch.cos(x) for x in ctx.saved_tensors)

    return Slow.apply


def line(count: int, dtype: Any = torch.float64) -> Any:
    return torch.linspace(0.1, 2.0, count, dtype=torch.float64).to(dtype).requires_grad_()


SLOW: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "right": (slow(), line(5), {}),
    "wrong": (slow(1.01), line(5), {}),
    "opaque": (slow(opaque=True), line(30), {}),
    "opaque and wrong": (slow(1.01, opaque=True), line(30), {}),
    "float32": (slow(opaque=True), line(30, torch.float32), {}),
    "bfloat16": (slow(), line(200, torch.bfloat16), {}),
    "many inputs": (slow(1.1), tuple(line(3) for _ in range(12)), {}),
    "slow backward": (slow(backward_cost=COST), line(5), {}),
    "second order": (slow(), line(5), {"order": 2}),
    "forward mode": (slow(), line(5), {"forward": True}),
    "all contexts": (slow(), line(5), {"contexts": "all"}),
    "a reference": (slow(), line(5), {"reference": slow()}),
    "differences": (slow(), line(300), {"method": "differences"}),
    "a strategy": (slow(1.01), points([(3,)]).map(lambda arrays: torch.from_numpy(arrays[0])), {}),
}


@pytest.mark.parametrize("kind", SLOW)
def test_a_check_of_a_slow_function_ends_within_its_budget_and_one_call(kind: str) -> None:
    function, inputs, options = SLOW[kind]
    for warm in (line(5), inputs):  # which imports what a backward, and a search, need
        check_gradients(lambda *xs: sum(map(torch.sin, xs)), warm, "torch", raise_exception=False, budget=COST)
    before = time.thread_time()
    report = check_gradients(function, inputs, "torch", raise_exception=False, budget=BUDGET, **options)
    assert time.thread_time() - before < BUDGET + 4 * COST
    assert report.outcome != "right" or kind not in {"wrong", "opaque and wrong", "many inputs"}


def test_a_function_that_a_direction_shows_to_be_wrong_is_not_right_if_the_time_ends_then() -> None:
    """The time ends after more and more calls."""
    function = own(np.sin, lambda g, x: g * np.cos(x) * 1.01)
    outcomes = []
    for most in (*range(3, 60, 4), 1000):
        subject = CheckedFunction(start(find_adapter("autograd")), function, (np.linspace(0.1, 2.0, 30),))
        subject.deadline = Countdown(most)
        outcomes.append(outcome_of(subject))
    assert outcomes == ["inconclusive"] * (len(outcomes) - 1) + ["wrong"]


def test_of_large_inputs_the_report_says_what_would_have_shown() -> None:
    sizes = np.where(np.arange(FULL_INPUTS + 600) < 2, 1.0, 1e-9)
    function = own(lambda x: np.tanh(sizes * x).sum(), lambda g, x: g * sizes / np.cosh(sizes * x) ** 2)
    report = check_gradients(function, np.linspace(0.5, 1.5, sizes.size), "autograd", method="differences")
    assert report.outcome == "right"
    assert report.looked_at <= report.entries
    assert report.chance_to_miss == CHANCE_TO_MISS


def test_kinks_among_many_entries_are_found_and_their_choices_are_legal() -> None:
    x = np.linspace(-1, 1, 301)
    x[150] = 0.0
    report = check_gradients(torch.relu, torch.tensor(x, requires_grad=True), method="differences")
    assert [(d.severity, d.entry) for d in report.inconclusive] == [("convention", (150,))]


def test_a_deadline_is_over_when_its_time_is_up() -> None:
    assert Deadline(-1.0).is_over()
    assert not Deadline(60.0).is_over()
    assert not Deadline().is_over()


def test_compilation_is_asked_for_only_when_the_time_on_the_wall_is_up() -> None:
    asked = []

    def compiled() -> float:
        asked.append(0.0)
        return 0.0

    begun = Deadline(60.0, compiled)
    assert not begun.is_over()
    assert len(asked) == 1
    begun.seconds = 0.0
    assert begun.is_over()
    assert len(asked) == 2


class Clock:
    """Seconds of the wall, of which this thread has waited for a processor for some."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.waited = 100.0, 0.0
        monkeypatch.setattr(deadlines, "monotonic", lambda: self.now)
        monkeypatch.setattr(deadlines, "processor_time", lambda _: (0.0, self.waited))


def test_a_deadline_stands_still_while_the_machine_does_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    deadline = Deadline(60.0)
    clock.now += 1000.0
    clock.waited += 1000.0
    assert not deadline.is_over()
    clock.now += 61.0
    assert deadline.is_over()


def test_a_deadline_stands_still_while_functions_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, compiled = Clock(monkeypatch), 5.0
    deadline = Deadline(60.0, lambda: compiled)
    clock.now += 1000.0
    compiled += 1000.0
    assert not deadline.is_over()
    clock.now += 61.0
    assert deadline.is_over()


def test_a_deadline_stands_still_until_a_report_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    deadline = Deadline(60.0)
    clock.now += 50.0
    deadline.pause()
    clock.now += 1000.0
    deadline.resume()
    clock.now += 9.0
    deadline.resume()
    assert not deadline.is_over()
    clock.now += 2.0
    assert deadline.is_over()


def test_where_directions_are_judged_no_simpler_inputs_are_looked_for() -> None:
    subject = SimpleNamespace(point=(np.array([0.25]),))
    checked = SimpleNamespace(judge=SimpleNamespace(method="directions"), subject=subject)
    wrong = Discrepancy("wrong", 0, (0,), 1.0, 0.0, 0.0, "0")
    assert simplified(checked, (), wrong) == (subject.point, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("factor", "calls"), [(3, [1, 2]), (4, [1, 2, 1])])
def test_two_runs_are_run_backward_in_one_call_of_the_library(
    factor: int, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second backward through one graph, and the first through that of the second run.

    If the gradient is wrong in both runs, only one at another point follows.
    """
    outputs, gradients = [], TorchTensors.gradients

    class Cube(torch.autograd.Function):  # type: ignore[misc]
        """The cube, whose derivative has the factor 3."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            (x,) = ctx.saved_tensors
            return factor * x**2 * cotangents[0]

    def counted(library: Any, tensors: Any, *arguments: Any, **options: Any) -> Any:
        outputs.append(len(tensors))
        return gradients(library, tensors, *arguments, **options)

    monkeypatch.setattr(TorchTensors, "gradients", counted)
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert bool(check_gradients(Cube.apply, x, raise_exception=False, contexts=())) == (factor == 3)
    assert outputs == calls


def test_the_gradient_of_a_second_run_is_compared_with_that_of_the_first() -> None:
    runs = []

    class Cube(torch.autograd.Function):  # type: ignore[misc]
        """The cube, whose backward is wrong in all runs but the first."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            runs.append(x)
            ctx.factor = 3 if len(runs) == 1 else 4
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            (x,) = ctx.saved_tensors
            return ctx.factor * x**2 * cotangents[0]

    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert check_gradients(Cube.apply, x, raise_exception=False, contexts=()).outcome == "wrong"
