"""Functions of MyGrad that are checked, with operators of their own, right and wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.checking.functions.case import Case, Function, numbers, signed

mygrad: Any = pytest.importorskip("mygrad", reason="needs refgrad[mygrad]")
operation_base: Any = pytest.importorskip("mygrad.operation_base", reason="needs refgrad[mygrad]")


def own(forward: Function, backward: Function) -> Function:
    """Return ``forward`` with a rule of the cotangent and the input."""

    class Own(operation_base.Operation):  # type: ignore[misc]
        """An operator of one tensor."""

        def __call__(self, x: Any) -> Any:
            self.variables = (x,)
            return forward(x.data)

        def backward_var(self, grad: Any, index: int, **_: Any) -> Any:
            return backward(grad, self.variables[index].data)

    return lambda x: mygrad.execute_op(Own, x)


def case(name: str, function: Function, fault: str = "", inputs: Callable[[], tuple[Any, ...]] | None = None) -> Case:
    """Return a case of MyGrad, of six numbers unless there are others."""
    return Case(name, function, inputs or (lambda: (signed(2, 3),)), fault, "mygrad")


def written(x: Any) -> Any:
    """A tensor of which a part is written."""
    y = x * 1.0
    y[0] = x[1] ** 2
    return y


def looped(x: Any) -> Any:
    """A loop."""
    for _ in range(3):
        x = mygrad.sin(x) + x
    return x


CASES = (
    case("network", lambda x, w: mygrad.tanh(x @ w).sum(axis=1), inputs=lambda: (signed(2, 3), signed(3, 2))),
    case("square", own(np.square, lambda g, x: 2 * x * g)),
    case("square, half", own(np.square, lambda g, x: x * g), "a factor of 2 is missing"),
    case("square, sign", own(np.square, lambda g, x: -2 * x * g), "the sign"),
    case("square, no cotangent", own(np.square, lambda g, x: 2 * x), "the cotangent is ignored"),
    case("square, wrong above 1", own(np.square, lambda g, x: np.where(x > 0, 3, 2) * x * g), "wrong for x > 0"),
    case("softmax", mygrad.nnet.softmax),
    case("in a loop", lambda x: mygrad.stack([row * i for i, row in enumerate(x)])),
    case("written in parts", written),
    case("powers", lambda x, y: x**y, inputs=lambda: (numbers(3), numbers(3, seed=1))),
    case("a value that leaves", lambda x: x * x.data.sum(), "numbers leave the graph"),
    case("a loop", looped),
    case("where", lambda x: mygrad.where(x.data > 0, mygrad.exp(x), x**2)),
    case("logsumexp", lambda x: mygrad.log(mygrad.sum(mygrad.exp(x), axis=0))),
    case("max", lambda x: mygrad.max(x, axis=0)),
    case("einsum", lambda x, y: mygrad.einsum("ij,kj->ik", x, y), inputs=lambda: (signed(2, 3), signed(4, 3, seed=1))),
    case("a number", lambda x: x**3 - x, inputs=lambda: (1.5,)),
    case("reshaped", lambda x: x.reshape(3, 2).T * 2.0),
    case("square, nothing", own(np.square, lambda g, x: 0 * x * g), "zeros"),
    case("square, a millionth", own(np.square, lambda g, x: 2.000002 * x * g), "a millionth too large"),
    case("square, float32", own(np.square, lambda g, x: (2 * x * g).astype(np.float32).astype(float)), "in float32"),
    case("exponential, the input", own(np.exp, lambda g, x: g * x), "the input is taken for the output"),
    case("sum, mean", own(np.sum, lambda g, x: np.full(x.shape, g / x.size)), "mean for sum"),
    case("sum", own(np.sum, lambda g, x: np.full(x.shape, g))),
)
