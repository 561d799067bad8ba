"""Functions of PyTorch are traced as the operators of ATen that they call, and what has no row is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking.subject import CheckedFunction, quiet
from refgrad.checking.tracing import Trace, Untraceable, trace
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, start
from tests.checking.operator_functions import function_of

pytestmark = pytest.mark.engines

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

CENTER = torch.full((4,), 0.1, dtype=torch.float64)

UNREAD = frozenset({
    "adaptive_max_pool1d", "cholesky_gram", "cross_entropy", "eigvalsh", "lstsq", "qr_q", "qr_r",
})  # fmt: skip
"""Rows that PyTorch computes by an operator of ATen that the table does not have; they are judged by differences."""

PICKY = frozenset({"prelu"})
"""Rows of which PyTorch refuses most shapes."""


def traced(engine: Engine, operator: str) -> Trace:
    """Trace an operator in the words of an engine, applied to the leaves of a scenario."""
    subject = CheckedFunction(engine, *function_of(engine, operator))
    with quiet():
        return trace(subject, subject.pullback(subject.point).outputs)


def test_every_row_that_pytorch_spells_is_traced_but_those_without_an_operator() -> None:
    engine = start(find_adapter("torch"))
    unread = set()
    for operator in engine.operators.keys() - PICKY:
        try:
            traced(engine, operator)
        except Untraceable:
            unread.add(operator)
    assert unread == UNREAD


def method(function: Any, *shape: int, **options: Any) -> tuple[str, str]:
    """Return how a function was judged, and why it was not certified."""
    x = torch.linspace(0.3, 1.7, int(np.prod(shape)), dtype=torch.float64).reshape(shape)
    report = check_gradients(function, x, **options)
    return report.method, report.reason


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * 2).mul_(3).exp_().sum(),
        lambda x: sum(part.prod() for part in x.split(1)) + x.chunk(2, dim=1)[0].sum(),
        lambda x: torch.stack(torch.broadcast_tensors(x, x[:1])).prod(),
        lambda x: torch.nn.functional.layer_norm(x, (4,)) * x,
        lambda x: torch.nn.functional.layer_norm(x, [4], weight=x[0]) * x,
        lambda x: torch.nn.functional.batch_norm(x, None, None, training=True) * x,
        lambda x: torch.nn.functional.batch_norm(x, CENTER, CENTER + 0.4, weight=x[0]),
        lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([1, 3]), label_smoothing=0.1),
        lambda x: x.var(dim=0, unbiased=False) + x.std(1, keepdim=True) + x.var(),
        lambda x: x.norm() + x.norm(p=1, dim=1).sum() + torch.linalg.vector_norm(x, 3),
        lambda x: x.roll(1, dims=1).cumsum(dim=0) + torch.nn.functional.dropout(x, 0.5),
        lambda x: torch.nn.functional.max_pool2d(x[None, None], 2) + x.topk(2, dim=1).values.sum(),
        lambda x: torch.nn.functional.pad(x, (1, 2), value=3.0).square(),
        lambda x: torch.nan_to_num(x) * torch.nan_to_num(x.float(), nan=1.0, neginf=-2.0),
        lambda x: torch.nn.functional.prelu(x - 1, x[0]),
        lambda x: torch.index_add(x, 0, torch.tensor([1, 0]), x * x, alpha=2),
    ],
)
def test_what_is_spelled_in_another_way_is_certified_too(function: Any) -> None:
    assert method(function, 2, 4) == ("certified", "")


@pytest.mark.parametrize(
    ("function", "sealed"),
    [
        (lambda x: x * 2, True),
        (lambda x: torch.where(x > 1, x * x, x), True),
        (lambda x: x * 2 if (x > 0).all() else x, True),
        (lambda x: x * 2 if torch.equal(x, x) else x, False),
        (lambda x: x * len(f"{x}"), False),
        (lambda x: x * CENTER, False),
    ],
)
def test_a_trace_is_sealed_if_nothing_else_depends_on_the_inputs(function: Any, *, sealed: bool) -> None:
    subject = CheckedFunction(start(find_adapter("torch")), function, [CENTER.clone().requires_grad_()])
    assert trace(subject, subject.pullback(subject.point).outputs).sealed is sealed


def test_an_assignment_to_a_part_is_recognized() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        y[0, 1:] = x[1, 1:].square()
        y[1] += 3
        return y * y

    assert method(function, 2, 4) == ("certified", "")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: torch.fft.fft(x).abs(), "it calls _fft_r2c"),
        (lambda x: x.scatter(0, torch.tensor([[0]]), 2.0) * x, "it calls scatter with a number"),
        (lambda x: x + float(x.sum().detach().item() > 0), "it calls item, which takes a value out of the calculation"),
    ],
)
def test_what_is_not_recognized_is_named(function: Any, reason: str) -> None:
    found, told = method(function, 2, 4, raise_exception=False)
    assert found == "differences"
    assert told.startswith(reason)


def test_a_wrong_rule_behind_a_layer_norm_is_certified_to_be_wrong() -> None:
    class Square(torch.autograd.Function):  # type: ignore[misc]
        """A square whose rule is a millionth too large."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return 2.000002 * ctx.saved_tensors[0] * cotangents[0]

    x = torch.linspace(0.3, 1.7, 8, dtype=torch.float64).reshape(2, 4)
    report = check_gradients(lambda x: torch.nn.functional.layer_norm(Square.apply(x), (4,)), x, raise_exception=False)
    assert (report.outcome, report.method) == ("wrong", "certified")


def written_row_by_row(x: Any) -> Any:
    """A result that is written through views of memory that was there before."""
    result = torch.zeros(2, 4, dtype=torch.float64)
    for number, row in enumerate(x):
        result[number] = row * (number + 1)
    return result.exp()


def read_through_a_view(x: Any) -> Any:
    """A view that is made before what it shows is written."""
    y = x * 2
    column = y[:, 1]
    y.mul_(x)
    y[0] += column[1]
    y.t()[2:].neg_()
    return column.exp() * y.sum()


@pytest.mark.parametrize(
    "function",
    [
        written_row_by_row,
        read_through_a_view,
        lambda x: x.clone().fill_(2.0).copy_(x[0]) * x,
        lambda x: (x * 2).unsqueeze_(0).transpose_(0, 1).zero_() + x[:, None],
        torch.vmap(torch.func.grad(lambda row: (row.tanh() * row[0]).sum())),
        lambda x: torch.func.jvp(lambda y: y.sin() * y.sum(), (x,), (torch.ones_like(x),))[1],
        lambda x: torch.autograd.grad(torch.nn.functional.gelu(x).softmax(1).log().sum(), x, create_graph=True)[0],
        lambda x: torch.nn.functional.pad(x[None], (2, 1), mode="reflect").unfold(2, 3, 2) ** 2,
        lambda x: torch.nn.functional.layer_norm(x, (2, 4), eps=0.1) * x,
        lambda x: torch.nn.functional.batch_norm(x[:, :2, None, None] * x[0], None, None, training=True) * x[1],
        lambda x: torch.nn.functional.dropout(x - x[:1], 0.5) * x,
        lambda x: x * (2.0 if x.sum() else 1.0),
        lambda x: x * len(f"{x.sum()}") * 0 + x.exp(),
        lambda x: torch.nn.functional.max_pool2d(x[None, None], 2, dilation=(1, 1), return_indices=True)[0],
    ],
)
def test_what_the_dispatcher_alone_sees_is_certified(function: Any) -> None:
    assert method(function, 2, 4) == ("certified", "")


def test_a_gradient_inside_whose_graph_is_lost_is_certified_to_be_wrong() -> None:
    x = torch.linspace(0.3, 1.7, 8, dtype=torch.float64).reshape(2, 4)
    report = check_gradients(
        lambda x: x * torch.func.grad(lambda y: (y**3).sum())(x.detach()), x, raise_exception=False
    )
    assert (report.outcome, report.method) == ("wrong", "certified")


def test_a_further_result_without_a_row_is_not_taken_for_a_constant() -> None:
    found, reason = method(
        lambda x: torch.native_layer_norm(x, [4], None, None, 0.1)[1] * x, 2, 4, raise_exception=False
    )
    assert (found, reason) == ("differences", "it uses a result that the operator table does not have")
