"""Tests of what is done where nothing can be said: it raises, unless it is allowed by name, and it is never true."""

from __future__ import annotations

import pickle
import traceback
from dataclasses import replace
from typing import Any

import pytest

from refgrad import GradientError, check_gradients
from refgrad.checking import FAILED, InconclusiveError
from refgrad.checking.check import GradientCheck
from refgrad.checking.report import Explanation, GradientReport

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines


def test_reports_are_compared_and_shown_without_texts_and_exceptions() -> None:
    report = GradientReport("autograd", "wrong", "certified", 2, 1)
    explained = replace(report, detectable={"x": 1.0}, raised=ValueError(), explanation=Explanation("no"))
    assert explained == report
    assert repr(replace(explained, detectable={})) == (
        "GradientReport(engine='autograd', outcome='wrong', method='certified', entries=2, seeds=1, reason='', "
        "sees_from=None, chance_to_miss=0.0, inconclusive=(), cause='', looked_at=0, detectable={}, allowed=False, "
        "points=1, contexts=(), refused=())"
    )


def at(*numbers: float) -> Any:
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)


def test_what_is_inconclusive_raises_and_says_why() -> None:
    with pytest.raises(InconclusiveError, match="output 0 is not finite at this point") as caught:
        check_gradients(torch.log, at(1.0, -1.0))
    assert caught.value.report.cause == "domain"
    assert isinstance(caught.value, GradientError)


def test_what_is_inconclusive_is_allowed_by_its_name_alone() -> None:
    assert check_gradients(torch.log, at(1.0, -1.0), allow=["domain"])
    with pytest.raises(InconclusiveError):
        check_gradients(torch.log, at(1.0, -1.0), allow=["kink"])


def test_what_is_inconclusive_is_not_true_where_it_does_not_raise() -> None:
    assert not check_gradients(torch.log, at(1.0, -1.0), strict=False)
    assert not check_gradients(torch.log, at(1.0, -1.0), raise_exception=False)


def test_a_cause_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="allow has"):
        check_gradients(torch.log, at(1.0), allow=["whatever"])


def test_what_is_wrong_is_not_allowed_by_any_name() -> None:
    with pytest.raises(GradientError) as caught:
        check_gradients(lambda x: x * x.detach(), at(1.0, 2.0), allow=["kink", "noise", "raises"])
    assert not isinstance(caught.value, InconclusiveError)


@pytest.mark.parametrize(
    ("function", "inputs", "cause", "told"),
    [
        (lambda x: x @ x, at(1.0).reshape(1, 1).expand(2, 3), "raises", "the function raised RuntimeError"),
        (lambda x: x.sum().item(), at(1.0), "raises", "output 0 is float, not a tensor"),
        (lambda x: x * 2, torch.tensor([1, 2]), "unsupported", "none of the inputs is an array of floating-point"),
    ],
)
def test_what_cannot_be_checked_is_told_in_a_line_and_is_no_wrong_gradient(
    function: Any, inputs: Any, cause: str, told: str
) -> None:
    report = check_gradients(function, inputs, raise_exception=False)
    assert (report.outcome, report.method, report.cause) == ("inconclusive", "none", cause)
    assert str(report).startswith(told)
    assert "\n" not in str(report)


def test_what_forward_mode_lacks_is_unsupported() -> None:
    class NoTangent(torch.autograd.Function):  # type: ignore[misc]
        """The square, without forward mode."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return 2 * ctx.saved_tensors[0] * cotangents[0]

    report = check_gradients(NoTangent.apply, at(1.0, 2.0), forward=True, raise_exception=False)
    assert (report.outcome, report.cause) == ("inconclusive", "unsupported")


def test_random_numbers_of_the_user_go_on_as_if_nothing_had_been_drawn() -> None:
    torch.manual_seed(3)
    expected = torch.randn(4)
    torch.manual_seed(3)
    assert check_gradients(lambda x: x * torch.rand_like(x), at(1.0, 2.0)).outcome == "right"
    assert torch.equal(torch.randn(4), expected)


def test_a_module_is_as_it_was_before() -> None:
    module = torch.nn.BatchNorm1d(3).double()
    check_gradients(lambda x: module(x), torch.randn(4, 3, dtype=torch.float64))  # noqa: PLW0108 (not its parameters)
    assert all(parameter.grad is None for parameter in module.parameters())
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    check_gradients(module, torch.randn(4, 3, dtype=torch.float64))
    assert all(torch.equal(before[name], buffer) for name, buffer in module.named_buffers())


def raising(_: Any) -> Any:
    """A function that is not there."""
    raise KeyError("no such thing")


def lines(error: BaseException | None) -> str:
    """Return the traceback of an exception."""
    assert error is not None
    return "".join(traceback.format_exception(error))


def test_the_exception_that_ended_a_check_is_kept_with_its_traceback() -> None:
    report = check_gradients(raising, at(1.0), raise_exception=False)
    assert isinstance(report.raised, KeyError)
    assert 'raise KeyError("no such thing")' in lines(report.raised)
    assert "Traceback" not in str(report)


def test_a_mistake_of_the_check_itself_is_told_with_how_to_report_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: Any) -> Any:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(GradientCheck, "run", mistaken)
    with pytest.raises(InconclusiveError) as caught:
        check_gradients(torch.exp, at(1.0))
    report = caught.value.report
    assert report.cause == "unsupported"
    assert str(report) == f"{FAILED}ZeroDivisionError: a mistake of ours"
    assert "traceback.print_exception(report.raised)" in str(report)
    assert 'raise ZeroDivisionError("a mistake of ours")' in lines(report.raised)


def test_a_check_that_comes_to_its_end_has_raised_nothing() -> None:
    assert check_gradients(torch.exp, at(1.0)).raised is None


def test_a_function_that_returns_another_number_of_tensors_is_not_called_wrong() -> None:
    numbers = iter(range(1, 1000))
    report = check_gradients(lambda x: [x * 2] * next(numbers), at(1.0), raise_exception=False)
    assert str(report) == "the function returns another number of tensors in another call"
    assert (report.outcome, report.cause) == ("inconclusive", "changes")


@pytest.mark.parametrize("number", [1.0, 1.0 + 1e-9])
def test_a_function_whose_outputs_are_more_beside_the_point_is_not_called_wrong(number: float) -> None:
    report = check_gradients(lambda x: x[x > 1] * 2, at(number, 3.0), method="differences", raise_exception=False)
    assert report.outcome != "wrong"
    assert report.method == "differences"


class Halved:
    """A function whose gradient is half of what it should be, and the number of its calls."""

    factor = 1.0
    calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return self.factor * x * x.detach()


def test_the_function_runs_again_only_when_a_report_is_read_first() -> None:
    function = Halved()
    report = check_gradients(function, at(1.0, 2.0), raise_exception=False)
    before = function.calls
    assert report.outcome == "wrong"
    assert not report
    assert function.calls == before
    assert report.message == str(report)
    after = function.calls
    assert after > before
    assert report.discrepancy is not None
    assert str(report) == report.message
    assert function.calls == after


def test_an_error_has_its_message_when_it_is_raised() -> None:
    function = Halved()
    with pytest.raises(GradientError) as caught:
        check_gradients(function, at(1.0, 2.0))
    before = function.calls
    assert str(caught.value) == caught.value.report.message
    assert function.calls == before


def test_a_report_that_is_read_later_is_about_the_inputs_of_the_check() -> None:
    x = at(1.0, 2.0)
    reports = [check_gradients(Halved(), x, raise_exception=False) for _ in range(2)]
    expected = str(reports[0])
    with torch.no_grad():
        x.fill_(7.0)
    assert str(reports[1]) == expected


@pytest.mark.parametrize("changed", [2.0, None])
def test_a_report_about_a_function_that_has_changed_shows_what_the_check_saw(changed: float | None) -> None:
    function = Halved()
    report = check_gradients(function, at(1.0, 2.0), raise_exception=False)
    function.factor = changed  # type: ignore[assignment]
    lines = str(report).splitlines()
    assert lines[0] == "the gradient with respect to a direction through all inputs is wrong"
    given, truth = float(lines[2].split()[2]), float(lines[3].split()[3])
    assert given == pytest.approx(truth / 2)
    assert "every entry lacks a factor of 2" not in str(report)


def test_a_report_about_a_backward_that_has_changed_shows_what_the_check_saw() -> None:
    is_right = False
    report = check_gradients(lambda x: x * (x if is_right else x.detach()), at(1.0, 2.0), raise_exception=False)
    is_right = True
    assert "no gradient arrives" not in str(report)
    assert report.discrepancy is not None
    assert report.discrepancy.observed == pytest.approx(report.discrepancy.lower / 2)


def test_a_report_is_pickled_with_its_message() -> None:
    report = check_gradients(Halved(), at(1.0, 2.0), raise_exception=False)
    copy = pickle.loads(pickle.dumps(report))  # noqa: S301 (made here)
    assert (copy, str(copy), copy.discrepancy) == (report, str(report), report.discrepancy)
