"""Functions of the kinds that JAX's tutorials teach, right, and with the mistakes that their readers report."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.checking.functions.case import Case, Function, numbers, signed

jax: Any = pytest.importorskip("jax", reason="needs refgrad[jax]")
jnp: Any = jax.numpy


def by_terms(forward: Function, *tangents: Function) -> Function:
    """Return ``forward`` with a tangent for each input, as defjvps has it."""
    function = jax.custom_jvp(forward)
    function.defjvps(*tangents)
    return function  # type: ignore[no-any-return]


def root_of(tangent_sign: float) -> Function:
    """Return a fixed point by iteration, differentiated as an implicit function; a sign makes it wrong."""

    def step(a: Any, x: Any) -> Any:
        return 0.5 * jnp.cos(a * x)

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def fixed_point(a: Any) -> Any:
        return jax.lax.fori_loop(0, 60, lambda _, x: step(a, x), jnp.zeros_like(a))

    def forward(a: Any) -> Any:
        x = fixed_point(a)
        return x, (a, x)

    def backward(kept: Any, cotangent: Any) -> Any:
        a, x = kept
        _, by_x = jax.vjp(partial(step, a), x)
        _, by_a = jax.vjp(lambda b: step(b, x), a)
        adjoint = jax.lax.fori_loop(0, 60, lambda _, w: cotangent + tangent_sign * by_x(w)[0], cotangent)
        return by_a(adjoint)

    fixed_point.defvjp(forward, backward)
    return fixed_point  # type: ignore[no-any-return]


def power(*, wrong: bool = False) -> Function:
    """Return a power whose exponent is no input that is differentiated by."""

    def forward(n: int, x: Any) -> tuple[Any, Any]:
        return x**n, x

    def backward(n: int, x: Any, cotangent: Any) -> tuple[Any]:
        return ((n - wrong) * x ** (n - 1) * cotangent,)

    function = jax.custom_vjp(lambda n, x: x**n, nondiff_argnums=(0,))
    function.defvjp(forward, backward)
    return lambda x: function(3, x)


def kept_output(*, wrong: bool = False) -> Function:
    """Return a sigmoid whose rule has its output, or what it takes for it."""
    function = jax.custom_vjp(jax.nn.sigmoid)
    function.defvjp(lambda x: (jax.nn.sigmoid(x), x if wrong else jax.nn.sigmoid(x)), lambda y, g: (g * y * (1 - y),))
    return function  # type: ignore[no-any-return]


def broadcast_bias(reduce: Function) -> Function:
    """Return rows with a bias, whose gradient is what a reduction makes of the cotangent."""
    function = jax.custom_vjp(lambda x, b: x + b)
    function.defvjp(lambda x, b: (x + b, None), lambda _, g: (g, reduce(g)))
    return function  # type: ignore[no-any-return]


def looped(x: Any) -> Any:
    """A loop of a number of steps that is known."""
    return jax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(y) + x, x)


def chosen(x: Any) -> Any:
    """A branch by a value."""
    return jax.lax.cond(x[0] > 0, lambda y: y**2, lambda y: -y, x)


def implicit(x: Any) -> Any:
    """Gradients of single samples, stacked."""
    return jax.vmap(jax.grad(lambda w, row: jnp.tanh(row @ w)), in_axes=(None, 0))(x, jnp.eye(3) + 0.1)


def pushed(x: Any) -> Any:
    """Forward mode inside."""
    return jax.jvp(lambda y: y * jnp.exp(y), (x,), (jnp.ones_like(x),))[1]


def normalized(x: Any) -> Any:
    """Rows by their norms, safe at zero."""
    square = (x**2).sum(-1, keepdims=True)
    safe = jnp.where(square > 0, square, 1.0)
    return jnp.where(square > 0, x / jnp.sqrt(safe), 0.0)


def safe_root(x: Any) -> Any:
    """A square root, zero below zero, with a where on either side."""
    return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)


def case(name: str, function: Function, inputs: Any, fault: str = "", **options: Any) -> Case:
    """Return a case of JAX, whose operators one by one take long."""
    return Case(name, function, inputs, fault, "jax", {"budget": 60.0, **options})


def one() -> tuple[Any, ...]:
    """Three numbers."""
    return (signed(3),)


def two() -> tuple[Any, ...]:
    """Rows, and numbers for a row."""
    return signed(2, 3), signed(3, seed=1)


CASES = (
    case("terms", by_terms(jnp.multiply, lambda t, _, x, y: t * y, lambda t, _, x, y: x * t), lambda: one() * 2),
    case(
        "terms, the second",
        by_terms(jnp.multiply, lambda t, _, x, y: t * y, lambda t, _, x, y: y * t),
        lambda: (signed(3), signed(3, seed=1)),
        "the second tangent takes the wrong factor",
    ),
    case("fixed point", root_of(1.0), one),
    case("fixed point, sign", root_of(-1.0), one, "a sign in the adjoint equation"),
    case("exponent apart", power(), one),
    case("exponent apart, one less", power(wrong=True), one, "the factor is one too small"),
    case("sigmoid by its output", kept_output(), one),
    case("sigmoid by its input", kept_output(wrong=True), one, "the input is taken for the output"),
    case("bias", broadcast_bias(lambda g: g.sum(0)), two),
    case("bias, mean", broadcast_bias(lambda g: g.mean(0)), two, "mean for sum"),
    case("bias, first row", broadcast_bias(lambda g: g[0]), two, "the first row alone"),
    case("loop", looped, one),
    case("branch", chosen, one),
    case("sample gradients", implicit, one),
    case("forward mode inside", pushed, one),
    case("rows by their norms", normalized, lambda: (signed(2, 3),)),
    case("root with where on either side", safe_root, one),
    case("float32", lambda x: jnp.tanh(x) * x, lambda: (signed(3).astype(np.float32),)),
    case(
        "float32, a thousandth",
        by_terms(jnp.tanh, lambda t, y, _x: 1.001 * t * (1 - y**2)),
        lambda: (signed(3).astype(np.float32),),
        "a thousandth too large",
    ),
    case("integers passed through", lambda x, i: x[i] ** 2, lambda: (signed(3), np.array([0, 2]))),
    case("two outputs", lambda x, y: (x * y, jnp.exp(x)), lambda: (numbers(3), numbers(3, seed=1))),
)
