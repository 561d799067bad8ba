"""Functions of HIPS autograd that are checked, with rules of their own, right and wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.checking.functions.case import Case, Function, numbers, signed
from tests.checking.own_functions import own

autograd: Any = pytest.importorskip("autograd", reason="needs refgrad[autograd]")
extend: Any = pytest.importorskip("autograd.extend", reason="needs refgrad[autograd]")
primitive, defvjp = extend.primitive, extend.defvjp
getval: Any = pytest.importorskip("autograd.tracer", reason="needs refgrad[autograd]").getval
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


def looped(x: Any) -> Any:
    """A loop."""
    for _ in range(3):
        x = anp.sin(x) + x
    return x


def not_taken(x: Any) -> Any:
    """A square root whose other branch is not a number in the backward."""
    return anp.where(x > 0, anp.sqrt(x), 0.0)


def one_row(g: Any, x: Any) -> Any:
    """The rule of a sum over rows that forgets all but the first."""
    result = np.zeros_like(x)
    result[0] = g
    return result


def two_sided(first: Function, second: Function) -> Function:
    """Return the product with rules of the cotangent and the inputs."""
    product = primitive(lambda x, y: x * y)
    defvjp(
        product,
        lambda _answer, x, y: lambda g: first(g, x, y),
        lambda _answer, x, y: lambda g: second(g, x, y),
    )
    return product  # type: ignore[no-any-return]


def pair() -> tuple[Any, ...]:
    """Two arrays of numbers."""
    return signed(3), signed(3, seed=1)


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
    case("softplus", lambda x: anp.logaddexp(x, 0.0)),
    case("where", lambda x: anp.where(x > 0, anp.exp(x), x**2)),
    case("a loop", looped),
    case("two inputs", two_sided(lambda g, x, y: g * y, lambda g, x, y: g * x), inputs=pair),
    case("two inputs, swapped", two_sided(lambda g, x, y: g * x, lambda g, x, y: g * y), "swapped", pair),
    case(
        "two inputs, second", two_sided(lambda g, x, y: g * y, lambda g, x, y: 0 * g), "the second gets nothing", pair
    ),
    case(
        "root, NaN not taken", not_taken, "NaN of the branch that is not taken", lambda: (np.array([0.5, -1.0, 2.0]),)
    ),
    case("a value that leaves", lambda x: x * np.sum(getval(x)), "numbers leave the graph"),
    case("sum, one row", own(lambda x: x.sum(axis=0), one_row), "one row alone"),
    case("a Hessian inside", autograd.hessian(lambda y: anp.sum(y**3)), inputs=lambda: (signed(3),)),
    case("solve", anp.linalg.solve, inputs=lambda: (signed(3, 3) + 4 * np.eye(3), signed(3, 2))),
    case("einsum", lambda x, y: anp.einsum("ij,kj->ik", x, y), inputs=lambda: (signed(2, 3), signed(4, 3, seed=1))),
)
