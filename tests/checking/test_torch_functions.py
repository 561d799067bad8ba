"""Are functions of PyTorch checked as users of gradcheck expect, and what gradcheck misses caught?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from refgrad import check_gradients

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")
nn: Any = pytest.importorskip("torch.nn.functional", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines
Method = Literal["auto", "differences"]
both_ways = pytest.mark.parametrize("method", ["auto", "differences"])


def point(*shape: int) -> Any:
    return torch.tensor(np.random.default_rng(5).uniform(0.4, 1.6, shape), requires_grad=True)


def exponential(backward: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    """Return the exponential with a backward of one's own, of cotangent, input and output."""

    class Exponential(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return backward(cotangents[0], *ctx.saved_tensors)

    return Exponential.apply  # type: ignore[no-any-return]


def overwrites_input(g: Any, x: Any, y: Any) -> Any:
    x.data.mul_(2)
    return g * y


FAULTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "0.09 % too large": lambda g, _, y: g * y * 1.0009,
    "ignores the seed": lambda _g, _x, y: y,
    "squares the seed": lambda g, _, y: g * g * y,
    "writes to its input": overwrites_input,
    "writes to the seed": lambda g, _, y: g.mul_(y),
    "computed in float32": lambda g, _, y: (g.float() * y.float()).double(),
}

TRACED: dict[str, Callable[[Any], Any]] = {
    "a norm that is one operator on a GPU": lambda x: torch.ops.aten._fused_rms_norm(x, x.shape[1:], x[0], None)[0],  # noqa: SLF001 (what rms_norm calls there)
    "functions of torch.nn": lambda x: nn.softplus(30 * x) + nn.silu(x) + nn.relu(x - 1) + torch.sigmoid(x),
    "a layer": lambda x: nn.linear(x, x, x[:, 0]).softmax(-1).log(),
    "a loss": lambda x: nn.mse_loss(x, torch.ones_like(x)) + nn.log_softmax(x, dim=1)[:, 0].mean(),
    "other shapes": lambda x: torch.cat([x, x.flip(0)], 1).view(-1, 2).unsqueeze(0).squeeze().transpose(0, 1),
    "choices": lambda x: torch.where(x > 1, x, x * x).clamp(min=0.6, max=1.4) + x.max(dim=1, keepdim=True).values,
    "a mask": lambda x: x[x > 0.9] ** 2,
    "rows": lambda x: torch.stack([row * row for row in x]).prod(0),
    "backward of one's own": exponential(lambda g, _, y: g * y),
}


@pytest.mark.parametrize("kind", TRACED)
def test_what_people_write_is_certified(kind: str) -> None:
    report = check_gradients(TRACED[kind], point(3, 3))
    assert (report.outcome, report.method) == ("right", "certified"), report


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: torch.fft.fft(x).abs(), "it calls _fft_r2c, which the operator table does not have"),
        (lambda x: x * x.detach().numpy().sum(), "it calls numpy, which takes a value out of the calculation"),
        (lambda x: x * x.sum().item(), "it calls item, which takes a value out of the calculation"),
    ],
)
def test_the_reason_why_a_function_is_not_certified(function: Callable[[Any], Any], reason: str) -> None:
    assert check_gradients(function, point(2), raise_exception=False).reason == reason


@both_ways
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_backward_is_caught(fault: str, method: Method) -> None:
    assert not check_gradients(exponential(FAULTS[fault]), point(2, 3), method=method, raise_exception=False)


@both_ways
@pytest.mark.parametrize("way", ["detach", "item"])
def test_a_value_that_leaves_the_graph_is_caught(way: str, method: Method) -> None:
    def function(x: Any) -> Any:
        return x * (x.detach() if way == "detach" else x.sum().item())

    assert not check_gradients(function, point(3), method=method, raise_exception=False)


def test_a_right_function_of_torch_passes_in_both_ways() -> None:
    for method in ("auto", "differences"):
        assert check_gradients(torch.special.expit, point(2, 2), method=method).outcome == "right"


def test_the_program_in_the_message_shows_the_fault() -> None:
    function = exponential(FAULTS["0.09 % too large"])
    report = check_gradients(function, point(2, 2), raise_exception=False)
    program = report.message.split("  to see it:\n")[1].replace("\n    ", "\n").strip()
    shown: list[Any] = []
    exec(program, {"function": function, "print": shown.append})
    assert repr(float(shown[0])) in report.message


def test_what_gradcheck_lets_pass_is_caught() -> None:
    function = exponential(FAULTS["0.09 % too large"])
    assert torch.autograd.gradcheck(function, (point(2, 3),))
    assert not check_gradients(function, point(2, 3), raise_exception=False)


def test_a_float32_function_is_judged_by_what_float32_can_do() -> None:
    x = point(3, 3).detach().float().requires_grad_()
    assert check_gradients(lambda x: (x.tanh() @ x).exp().sum(), x).outcome == "right"
    assert not check_gradients(exponential(lambda g, _, y: g * y * 1.0001), x, raise_exception=False)


@pytest.mark.parametrize("function", [torch.log, torch.reciprocal, torch.lgamma])
def test_a_pole_that_larger_steps_jump_over_makes_no_right_gradient_wrong(function: Any) -> None:
    """Larger steps agree with each other on either side; the smallest ones stay on this one."""
    x = torch.tensor([4e-7, 1.2e-5], dtype=torch.float64)
    assert (
        check_gradients(lambda y: function(y.abs()), x, method="differences", raise_exception=False).outcome != "wrong"
    )


def test_a_screen_that_would_miss_a_hundredth_is_not_used() -> None:
    """That of one entry of float16 misses 4 %: each entry is certified instead."""
    report = check_gradients(lambda x: x * x, torch.tensor([0.7], dtype=torch.float16, requires_grad=True))
    assert (report.outcome, report.method, report.sees_from) == ("right", "certified", None)


@pytest.mark.parametrize("seed", range(40))
def test_numbers_that_come_alike_in_two_runs_by_chance_are_seen_to_be_drawn(seed: int) -> None:
    """One mask of sixteen is that of the run before."""
    torch.manual_seed(seed)
    state = torch.get_rng_state()
    report = check_gradients(lambda x: nn.dropout(x, 0.5), point(4), raise_exception=False)
    assert report.outcome == "right"
    assert torch.equal(torch.get_rng_state(), state)


ORDINARY: dict[str, Callable[[Any], Any]] = {
    "gelu, which cancels left of 0": nn.gelu,
    "variance, whose gradient is rounding at equal numbers": torch.var,
    "deviation, which has no gradient at equal numbers": torch.std,
    "distance to a part of itself": lambda x: (x[1:] - x[:-1]).norm(),
    "median": torch.median,
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ORDINARY)
def test_a_function_of_numbers_far_from_zero_is_right(name: str, dtype: str) -> None:
    numbers = [-9.3, -6.1, -5.74, -4.2, -3.1, -1.3, -0.7518, -0.02, 0.013, 0.75, 1.1, 3.4, 5.7, 8.8, 17.3]
    x = torch.tensor(numbers, dtype=getattr(torch, dtype), requires_grad=True)
    report = check_gradients(ORDINARY[name], x, raise_exception=False)
    assert report.outcome == "right", str(report)
