"""Functions of JAX that are checked, with rules of their own, right and wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.checking.functions import jax_tutorials
from tests.checking.functions.case import Case, Function, numbers, signed

jax: Any = pytest.importorskip("jax", reason="needs refgrad[jax]")
jnp: Any = jax.numpy


def own(forward: Function, backward: Function) -> Function:
    """Return ``forward`` with a rule of its inputs and the cotangent, as custom_vjp has it."""
    function = jax.custom_vjp(forward)
    function.defvjp(lambda *xs: (forward(*xs), xs), lambda xs, g: backward(g, *xs))
    return function  # type: ignore[no-any-return]


def own_forward(forward: Function, tangent: Function) -> Function:
    """Return ``forward`` with a rule of forward mode, as custom_jvp has it."""
    function = jax.custom_jvp(forward)
    function.defjvp(lambda primals, tangents: (forward(*primals), tangent(*primals, *tangents)))
    return function  # type: ignore[no-any-return]


def normal(*shapes: tuple[int, ...]) -> Callable[[], tuple[Any, ...]]:
    """Return what makes arrays of normal numbers."""
    return lambda: tuple(signed(*shape, seed=i) for i, shape in enumerate(shapes))


def positive(*shapes: tuple[int, ...]) -> Callable[[], tuple[Any, ...]]:
    """Return what makes arrays of positive numbers."""
    return lambda: tuple(numbers(*shape, seed=i) for i, shape in enumerate(shapes))


def log1pexp(x: Any) -> Any:
    """log(1 + exp(x)), the example of the tutorial on custom rules."""
    return jnp.log(1.0 + jnp.exp(x))


def clipped(low: float, high: float) -> Function:
    """Return the identity that clips its gradient: on purpose no derivative."""
    return own(lambda x: x, lambda g, x: (jnp.clip(g, low, high),))


def scanned(x: Any) -> Any:
    """A loop by scan."""
    return jax.lax.scan(lambda state, row: (jnp.tanh(state + row), state * row), jnp.zeros(3), x)


def penalty(w: Any) -> Any:
    """A gradient penalty."""
    slope = jax.grad(lambda x: jnp.tanh(x @ w).sum())(jnp.arange(6.0).reshape(2, 3) / 5)
    return (slope**2).sum()


def branch_of_nan(x: Any) -> Any:
    """A square root whose other branch is not a number in the backward."""
    return jnp.where(x > 0, jnp.sqrt(x), 0.0)


def noisy(x: Any) -> Any:
    """Noise of a key."""
    return x * jax.random.normal(jax.random.key(0), x.shape)


def of_dict(parts: Any) -> Any:
    """A function of a dictionary."""
    return {"a": parts["x"] * parts["w"].sum(), "b": parts["w"] ** 2}


ONE, TWO = normal((3,)), normal((3,), (3,))
SIGNS = np.array([0.5, -1.0, 2.0])


def case(name: str, function: Function, inputs: Callable[[], tuple[Any, ...]], fault: str = "", **options: Any) -> Case:
    """Return a case of JAX, whose operators one by one take long."""
    return Case(name, function, inputs, fault, "jax", {"budget": 60.0, **options})


CASES = (
    case("network", lambda x, w: jnp.tanh(x @ w).sum(1), normal((2, 3), (3, 4))),
    case("log1pexp", own_forward(log1pexp, lambda x, t: (1 - 1 / (1 + jnp.exp(x))) * t), ONE, forward=True),
    case("log1pexp, sign", own_forward(log1pexp, lambda x, t: (1 + 1 / (1 + jnp.exp(x))) * t), ONE, "a sign"),
    case("sine", own(jnp.sin, lambda g, x: (g * jnp.cos(x),)), ONE),
    case("sine, no cotangent", own(jnp.sin, lambda g, x: (jnp.cos(x),)), ONE, "the cotangent is ignored"),
    case("sine, a thousandth", own(jnp.sin, lambda g, x: (1.001 * g * jnp.cos(x),)), ONE, "a thousandth too large"),
    case("product", own(jnp.multiply, lambda g, x, y: (g * y, g * x)), TWO),
    case("product, swapped", own(jnp.multiply, lambda g, x, y: (g * x, g * y)), TWO, "swapped"),
    case("product, second", own(jnp.multiply, lambda g, x, y: (g * y, 0 * g)), TWO, "the second gets nothing"),
    case("matrices", own(jnp.matmul, lambda g, x, y: (g @ y.T, x.T @ g)), normal((2, 3), (3, 2))),
    case("matrices, transposed", own(jnp.matmul, lambda g, x, y: (g @ y, x @ g)), normal((2, 2), (2, 2)), "transposed"),
    case("mean, sum", own(jnp.mean, lambda g, x: (jnp.full(x.shape, g),)), ONE, "sum for mean"),
    case("clipped gradient", lambda x: (3 * clipped(-0.1, 0.1)(x)) ** 2, ONE, "a clipped gradient"),
    case("where, NaN not taken", branch_of_nan, lambda: (SIGNS,), "NaN of the branch that is not taken"),
    case("stop_gradient", lambda x: x * jax.lax.stop_gradient(x), ONE, "a factor is stopped"),
    case("scan", scanned, normal((4, 3))),
    case("vmap", jax.vmap(lambda row: row / row.sum()), positive((2, 3))),
    case("jit", jax.jit(lambda x: jnp.exp(x) * x), ONE),
    case("gradient penalty", penalty, normal((3, 2))),
    case("Hessian", jax.jit(jax.hessian(lambda x: (x**3).sum() * x[0])), ONE),
    case("checkpoint", jax.checkpoint(lambda x: jnp.sin(x) * x), ONE),
    case("noise", noisy, ONE),
    case("dictionary", of_dict, lambda: ({"x": signed(3), "w": signed(2, seed=1)},)),
    case("solve", jnp.linalg.solve, lambda: (signed(3, 3) + 4 * np.eye(3), signed(3, 2))),
    case("second order", lambda x: jnp.sin(x) * x, ONE, order=2),
    case(
        "complex", lambda z: (z * jnp.conj(z)).real + jnp.abs(jnp.exp(z)), lambda: (signed(3) + 1j * signed(3, seed=1),)
    ),
    case("a number", lambda x: x**3, lambda: (1.5,)),
    *jax_tutorials.CASES,
)
