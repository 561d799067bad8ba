"""Functions of PyTorch in other precisions than float64: float32, float16, bfloat16, autocast."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checking.functions.case import Case
from tests.checking.functions.torch_inputs import constant, normal, own, positive

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

HALF, BRAIN, SINGLE = torch.float16, torch.bfloat16, torch.float32
WEIGHT = constant(3, 3)


def exponential(factor: float) -> Any:
    """Return the exponential with a rule that is off by a factor."""
    return own(torch.exp, lambda g, x: g * x.exp() * factor)


def autocast(x: Any) -> Any:
    """A layer under autocast."""
    with torch.autocast("cpu", dtype=BRAIN):
        return torch.nn.functional.linear(x, WEIGHT.float()).float().tanh()


def autocast_wrong(x: Any) -> Any:
    """A layer under autocast behind a wrong rule."""
    with torch.autocast("cpu", dtype=BRAIN):
        return torch.nn.functional.linear(exponential(2.0)(x), WEIGHT.float()).float()


def strictly_brain(x: Any) -> Any:
    """A layer whose weights allow one dtype only."""
    return (x @ WEIGHT.to(BRAIN)).tanh()


def strictly_brain_wrong(x: Any) -> Any:
    """The same behind a wrong rule."""
    return exponential(2.0)(x) @ WEIGHT.to(BRAIN)


def mixed(x: Any, w: Any) -> Any:
    """A product of two precisions."""
    return x @ w.double()


def cast_inside(x: Any) -> Any:
    """A function that goes through float32."""
    return x.float().exp().double()


CASES = (
    Case("float32 network", lambda x, w: (x @ w).tanh().exp().sum(), normal((2, 3), (3, 4), dtype=SINGLE)),
    Case("float32 rule", exponential(1.0), normal((4,), dtype=SINGLE)),
    Case("float32 rule, a thousandth", exponential(1.001), normal((4,), dtype=SINGLE), "a thousandth too large"),
    Case("float16 rule", exponential(1.0), normal((4,), dtype=HALF)),
    Case("float16 rule, a tenth", exponential(1.1), normal((4,), dtype=HALF), "a tenth too large"),
    Case("float16 softmax", lambda x: x.softmax(-1), normal((2, 3), dtype=HALF)),
    Case("bfloat16 rule", exponential(1.0), normal((4,), dtype=BRAIN)),
    Case("bfloat16 rule, twice", exponential(2.0), normal((4,), dtype=BRAIN), "twice too large"),
    Case("bfloat16 product", lambda x, w: x @ w, positive((2, 3), (3, 2), dtype=BRAIN)),
    Case("bfloat16 weights", strictly_brain, normal((2, 3), dtype=BRAIN)),
    Case("bfloat16 weights, twice", strictly_brain_wrong, normal((2, 3), dtype=BRAIN), "twice too large"),
    Case("autocast", autocast, normal((2, 3), dtype=SINGLE)),
    Case("autocast, twice", autocast_wrong, normal((2, 3), dtype=SINGLE), "twice too large"),
    Case("float16 layer norm", torch.nn.LayerNorm(8).half(), normal((3, 8), dtype=HALF)),
    Case("bfloat16 layer", torch.nn.Linear(8, 4).bfloat16(), normal((3, 8), dtype=BRAIN)),
    Case("two precisions", mixed, lambda: (*normal((2, 3))(), *positive((3, 2), dtype=SINGLE)())),
    Case("float32 inside", cast_inside, normal((4,))),
)
