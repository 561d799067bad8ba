"""The reverse pass in float64 gives the gradients of PyTorch in float64, and what rounding does to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refgrad.checking import low_precision
from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing import Trace, trace
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start

torch = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines

F: Any = torch.nn.functional

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "attention": (lambda q, k, v: torch.softmax(q @ k.mT / 3, -1) @ v, ((2, 5, 9), (2, 6, 9), (2, 6, 4))),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (8,), w, b), ((4, 8), (8,), (8,))),
    "convolution": (lambda x, w: F.conv2d(x, w, padding=1), ((2, 3, 6, 6), (4, 3, 3, 3))),
    "embedding": (lambda w: F.embedding(torch.arange(20) % 7, w), ((7, 4),)),
    "ignored rows": (lambda x: F.cross_entropy(x, torch.arange(12) % 5, ignore_index=3), ((12, 5),)),
    "largest entries": (lambda x: x.topk(2, -1)[0] * x.amax(0).sum(), ((6, 9),)),
    "mean of products": (lambda x, y: (x * y).mean(0) + x.prod(-1).sum(), ((5, 4), (5, 4))),
}  # fmt: skip


def traced(name: str) -> tuple[Trace, list[Any]]:
    """Return the trace of a function at random inputs, and these in float64."""
    function, shapes = FUNCTIONS[name]
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]
    subject = CheckedFunction(start(find_adapter("torch")), function, inputs)
    return trace(subject, subject.pullback(subject.point).outputs), inputs


def seeded(found: Trace) -> list[tuple[str, Any]]:
    """Return random cotangents of the outputs."""
    choices = np.random.default_rng(1)
    return [(name, choices.normal(size=found.values[name].shape)) for name in found.outputs]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_truth_is_the_gradient_of_pytorch(name: str) -> None:
    found, inputs = traced(name)
    contributions = seeded(found)
    truth = low_precision.truth(found, contributions, np.random.default_rng(2))
    assert truth is not None
    expected = torch.autograd.grad(FUNCTIONS[name][0](*inputs), inputs, torch.tensor(contributions[0][1]))
    for array, tensor in zip(truth.values(), expected, strict=True):
        np.testing.assert_allclose(array, tensor.numpy(), rtol=1e-7, atol=1e-8)


def test_an_input_that_is_not_used_has_a_gradient_of_zeros() -> None:
    inputs = [torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True) for _ in range(2)]
    subject = CheckedFunction(start(find_adapter("torch")), lambda x, _: x * x, inputs)
    found = trace(subject, subject.pullback(subject.point).outputs)
    gradients = low_precision.reverse_gradients(found, [(found.outputs[0], np.ones(2))])
    assert [gradients[name].tolist() for name in found.inputs] == [[4.0, 6.0], [0.0, 0.0]]


def test_rounding_errors_have_the_size_of_the_format() -> None:
    found, _ = traced("layer norm")
    exact = low_precision.reverse_gradients(found, seeded(found))
    noisy = low_precision.reverse_gradients(found, seeded(found), 2.0**-8, np.random.default_rng(0))
    for name, array in exact.items():
        error = np.median(np.abs(noisy[name] - array) / np.abs(array))
        assert 2.0**-11 < error < 2.0**-5


def test_entries_at_a_kink_have_no_truth() -> None:
    inputs = [torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64, requires_grad=True)]
    subject = CheckedFunction(start(find_adapter("torch")), torch.relu, inputs)
    found = trace(subject, subject.pullback(subject.point).outputs)
    truth = low_precision.truth(found, [(found.outputs[0], np.ones(3))], np.random.default_rng(0))
    assert truth is not None
    assert np.nan_to_num(next(iter(truth.values())), nan=7.0).tolist() == [1.0, 7.0, 0.0]


def test_a_rule_uses_the_rounded_output() -> None:
    """In bfloat16 tanh(3.5) may be 1, whose slope is 0, though that of tanh is 0.0036."""
    subject = CheckedFunction(start(find_adapter("torch")), torch.tanh, [torch.tensor([3.5], requires_grad=True)])
    found, unit = trace(subject, subject.pullback(subject.point).outputs), 2.0**-9
    seeds = [(name, np.ones(1)) for name in found.outputs]
    draws = (low_precision.reverse_gradients(found, seeds, unit, np.random.default_rng(n)) for n in range(50))
    slopes = [gradient[0] for draw in draws for gradient in draw.values()]
    assert min(slopes) < 0.001
    assert max(slopes) > 0.006
