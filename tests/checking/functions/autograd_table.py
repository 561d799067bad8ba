"""Functions of HIPS autograd that are checked, with rules of their own, right and wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.checking.functions.case import Case, Function, numbers, signed
from tests.checking.own_functions import own

autograd: Any = pytest.importorskip("autograd", reason="needs refgrad[autograd]")
anp: Any = pytest.importorskip("autograd.numpy", reason="needs refgrad[autograd]")


def case(name: str, function: Function, fault: str = "", inputs: Callable[[], tuple[Any, ...]] | None = None) -> Case:
    """Return a case of autograd, of six numbers unless there are others."""
    return Case(name, function, inputs or (lambda: (signed(2, 3),)), fault, "autograd")


def writes(g: Any, x: Any) -> Any:
    """The rule of the square, computed where the cotangent is."""
    g *= 2 * x
    return g


def network(x: Any, w: Any) -> Any:
    """A network."""
    return anp.tanh(anp.dot(x, w)).sum(axis=1)


CASES = (
    case("network", network, inputs=lambda: (signed(2, 3), signed(3, 2))),
    case("square", own(np.square, lambda g, x: 2 * x * g)),
    case("square, half", own(np.square, lambda g, x: x * g), "a factor of 2 is missing"),
    case("square, a millionth", own(np.square, lambda g, x: 2.000002 * x * g), "a millionth too large"),
    case("square, writes to the seed", own(np.square, writes), "the cotangent is overwritten"),
    case("square, float32", own(np.square, lambda g, x: (2 * x * g).astype(np.float32).astype(float)), "in float32"),
    case("transposed", own(lambda x: x.T, lambda g, x: g.T)),
    case("logsumexp", lambda x: anp.log(anp.sum(anp.exp(x), axis=0))),
    case("a gradient inside", autograd.elementwise_grad(lambda y: anp.sin(y) * y)),
    case("a list inside", lambda x: anp.concatenate([row * i for i, row in enumerate(x)])),
    case("max", lambda x: anp.max(x, axis=0)),
    case("relu, kept", own(lambda x: np.maximum(x, 0), lambda g, x: g), "below 0 too"),
    case("a number", lambda x: x**3 - x, inputs=lambda: (1.5,)),
    case("powers", lambda x, y: x**y, inputs=lambda: (numbers(3), numbers(3, seed=1))),
)
