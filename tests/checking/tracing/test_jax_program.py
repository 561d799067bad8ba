"""Functions of JAX are recorded as rows of the table: what is right passes, and an error of 1e-9 is seen."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pytest

from refgrad.checking import GradientReport, check_gradients
from refgrad.checking.libraries.jax_arrays import equations
from refgrad.specification import specs_directory

jax: Any = pytest.importorskip("jax", reason="needs refgrad[jax]")
jnp: Any = jax.numpy
lax: Any = jax.lax
jax.config.update("jax_enable_x64", True)  # noqa: FBT003 (JAX's own spelling)

Function = Callable[..., Any]

HALF = np.array([0.5, 0.3, 0.8])
SIGNS = np.array([0.5, 2.0, -1.3])
BEYOND_1 = np.array([1.5, 2.5, 1.1])
MATRIX = np.array([[0.3, 1.2], [-0.7, 2.2]])
STACK = np.stack([MATRIX, MATRIX + 1])

ELEMENTWISE: Final = (
    *("exp", "exp2", "log", "log1p", "expm1", "sqrt", "rsqrt", "cbrt", "square", "abs", "sign", "floor", "ceil"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "logistic", "neg"),
    *("erf", "erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"),
)
OF_TWO: Final = ("add", "sub", "mul", "div", "max", "min", "rem", "atan2", "pow")


def branching(x: Any) -> Any:
    """A branch, a loop over rows from either end, and two loops by a value."""
    x = lax.cond(x[0] > 0, lambda y: y**2, lambda y: -y, x)
    total, rows = lax.scan(lambda state, row: (jnp.tanh(state + row), (state * row, 1.0)), 0.0, x)
    back, _ = lax.scan(lambda state, row: (state * row, None), 1.0, x, reverse=True)
    return lax.fori_loop(0, 3, lambda _, y: jnp.sin(y) + x, x), total, rows[0], back


KINKED: Final = "logsumexp at a tie"
"""What meets a tie, which inside of another function is no choice."""

NARROW: Final = {"float32": 1e-4, "float32 inside": 1e-4, "float16": 0.5, "bfloat16": 0.5, "set in float32": 1e-4}
"""The relative errors that are seen in formats of fewer digits."""

FUNCTIONS: Final[Mapping[str, tuple[Function, tuple[Any, ...]]]] = {
    **{name: (getattr(lax, name), (HALF,)) for name in ELEMENTWISE},
    **{name: (getattr(lax, name), (HALF, BEYOND_1)) for name in OF_TWO},
    "acosh": (lax.acosh, (BEYOND_1,)),
    "cube": (lambda x: x**3, (SIGNS,)),
    "inverse square": (lambda x: x**-2, (SIGNS,)),
    "root": (lambda x: x**2.5, (HALF,)),
    "clamp": (lambda x: lax.clamp(-1.0, x, 1.0), (SIGNS,)),
    "clip": (lambda x: jnp.clip(x, -1, 1), (SIGNS,)),
    "reductions": (lambda a: (a.sum(0), a.prod(1), a.max(), a.min(axis=1)), (MATRIX,)),
    "cumulated": (lambda x: (lax.cumsum(x, reverse=True), lax.cumprod(x), lax.cummax(x), lax.cummin(x)), (SIGNS,)),
    "cumlogsumexp": (lax.cumlogsumexp, (SIGNS,)),
    "shapes": (lambda a: (a.T.reshape(4), a[None, :, :].squeeze(0), jnp.broadcast_to(a, (3, 2, 2))), (MATRIX,)),
    "joined": (lambda x, y: (jnp.concatenate([x, y]), jnp.stack([x, y], 1)), (SIGNS, HALF)),
    "a product": (lambda a, b: a @ b.T, (MATRIX, MATRIX + 1)),
    "products of stacks": (lambda a, b: jnp.einsum("bij,bkj->bik", a, b), (STACK, STACK + 1)),
    "sums of products": (lambda a, b: jnp.einsum("bij,bij->i", a, b), (STACK, STACK + 1)),
    "a convolution": (jnp.convolve, (SIGNS, HALF)),
    "a convolution of images": (
        lambda x, w: lax.conv_general_dilated(
            x, w, (2, 1), [(1, 0), (0, 2)], rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        (np.linspace(-1, 1, 40).reshape(1, 4, 5, 2), np.linspace(0.5, 2, 24).reshape(2, 2, 2, 3)),
    ),
    "tiled": (lambda x: jnp.tile(x, 2) ** 2, (SIGNS,)),
    "taken apart": (lambda a: jnp.unstack(a)[1] ** 2, (MATRIX,)),
    "rounded": (lambda x: jnp.round(x) * x, (SIGNS,)),
    "an outer product": (jnp.outer, (SIGNS, HALF)),
    "an index that repeats": (lambda x: x[jnp.array([0, 0, 2])] * x, (SIGNS,)),
    "a place by a value": (lambda x: x[jnp.argmax(x)], (SIGNS,)),
    "slices": (lambda x: x[::2].sum() * lax.dynamic_slice(x, (jnp.argmin(x) - 1,), (2,)), (SIGNS,)),
    "turned round": (lambda x: jnp.flip(x) * jnp.roll(x, 1), (SIGNS,)),
    "split": (lambda x: lax.split(x, (1, 2))[1], (SIGNS,)),
    "padded": (lambda x: jnp.pad(x, 1, constant_values=2.0) ** 2, (SIGNS,)),
    "set": (lambda x: x.at[1].set(x[0] ** 2) * x, (SIGNS,)),
    "set by a slice": (lambda x, y: lax.dynamic_update_slice(x, y[:2] ** 2, (1,)), (SIGNS, HALF)),
    "set in float32": (lambda x: x.at[1].set(x[0] ** 2) * x, (SIGNS.astype(np.float32),)),
    "added at": (lambda x, y: x.at[jnp.array([1, 1, 0])].add(y), (SIGNS, HALF)),
    "sorted": (jnp.sort, (SIGNS,)),
    "sorted by keys": (lambda x, y: lax.sort_key_val(x, y**2)[1], (SIGNS, HALF)),
    "the largest": (lambda x: lax.top_k(x, 2)[0], (SIGNS,)),
    "a median": (jnp.median, (SIGNS,)),
    "where": (lambda x: jnp.where(x > 0, x**2, jnp.sin(x)), (SIGNS,)),
    "one of three": (lambda x: lax.select_n(jnp.array([0, 1, 2]), x, x**2, x**3), (SIGNS,)),
    KINKED: (jax.nn.logsumexp, (np.array([1.0, 1.0, 0.5]),)),
    "activations": (lambda x: (jax.nn.gelu(x), jax.nn.silu(x), jax.nn.softplus(x), jax.nn.softmax(x)), (SIGNS,)),
    "layer norm": (lambda x: (x - x.mean()) / jnp.sqrt(x.var() + 1e-5), (SIGNS,)),
    "stopped and started": (lambda x: lax.stop_gradient(x) * 0 + x, (SIGNS,)),
    "a checkpoint": (jax.checkpoint(lambda x: jnp.sin(x) * x), (SIGNS,)),
    "compiled": (jax.jit(lambda x: jnp.exp(x) * x), (SIGNS,)),
    "a rule of its own": (jax.numpy.sinc, (SIGNS,)),
    "noise": (lambda x: x * jax.random.normal(jax.random.key(0), x.shape), (SIGNS,)),
    "gradients of samples": (jax.vmap(jax.grad(lambda v: jnp.tanh(v) ** 2)), (SIGNS,)),
    "branching": (branching, (SIGNS,)),
    "by a loop": (lambda x: lax.while_loop(lambda n: n < 3, lambda n: n + 1, 0) * x, (SIGNS,)),
    "float32": (lambda x: jnp.tanh(x) * x, (SIGNS.astype(np.float32),)),
    "float32 inside": (lambda x: jax.nn.softmax(x.astype(jnp.float32)).astype(jnp.float64) * x, (SIGNS,)),
    "float16": (jax.nn.softmax, (SIGNS.astype(np.float16),)),
    "bfloat16": (lambda x: x.at[0].add(x[1]) * x, (jnp.asarray(SIGNS, jnp.bfloat16),)),
    "a copy": (lambda x: jnp.copy(x).astype(jnp.float64), (SIGNS,)),
    "an integer beside": (lambda x, n: x * n, (SIGNS, 3)),
}


def said(x: Any) -> Any:
    """What tells somebody a value."""
    jax.debug.callback(str, x)
    return x**2


NOT_RECORDED: Final[Mapping[str, tuple[Function, tuple[Any, ...], str]]] = {
    "a solution": (jnp.linalg.solve, (MATRIX, MATRIX), "it calls lu, which the operator table does not have"),
    "softplus at 0": (jax.nn.softplus, (np.array([0.0, 1.0]),), "it meets a kink of max inside of a function"),
    "a message": (said, (SIGNS,), "it calls debug_callback, which does something beside what it returns"),
    "complex numbers": (
        lambda x: jnp.abs(jnp.exp(1j * x) + x),
        (SIGNS,),
        "it calls convert_element_type, which gives complex numbers",
    ),
    "a branch by Python": (lambda x: x**2 if x[0] > 0 else -x, (SIGNS,), "traced array"),
}


def report(function: Function, inputs: tuple[Any, ...], **options: Any) -> GradientReport:
    return check_gradients(function, inputs, "jax", raise_exception=False, **{"budget": 60.0, **options})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_right_is_certified(name: str) -> None:
    function, inputs = FUNCTIONS[name]
    found = report(function, inputs)
    assert (found.outcome, found.method, found.reason) == ("right", "certified", "")


def slightly_wrong(function: Function, error: float) -> Function:
    """Return a function whose rule gives gradients that are so much too large, relatively."""

    def backward(inputs: tuple[Any, ...], cotangent: Any) -> tuple[Any, ...]:
        _, pull = jax.vjp(function, *inputs)
        return tuple((1 + error) * g for g in pull(cotangent))

    own = jax.custom_vjp(lambda *inputs: function(*inputs))  # noqa: PLW0108 (without arguments that are left out)
    own.defvjp(lambda *inputs: (function(*inputs), inputs), backward)
    return own  # type: ignore[no-any-return]


WITHOUT_GRADIENT: Final = frozenset({"sign", "floor", "ceil", "an integer beside"})
"""Of which there is no gradient that could be too large, or that takes an integer, of which there is none."""


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - WITHOUT_GRADIENT))
def test_an_error_of_a_billionth_is_seen(name: str) -> None:
    function, inputs = FUNCTIONS[name]
    found = report(slightly_wrong(function, NARROW.get(name, 1e-9)), inputs)
    assert (found.outcome, found.method) == ("wrong", "differences" if name == KINKED else "certified")


@pytest.mark.parametrize("name", NOT_RECORDED)
def test_what_is_not_recorded_is_judged_by_differences(name: str) -> None:
    function, inputs, reason = NOT_RECORDED[name]
    found = report(function, inputs, strict=False)
    assert found.method == "differences"
    assert found.outcome == "right"
    assert reason in found.reason


def test_no_primitive_is_known_that_is_not_tried() -> None:
    functions = [*FUNCTIONS.values(), (slightly_wrong(jnp.sin, 0.0), (SIGNS,))]
    tried = {each.primitive.name for f, inputs in functions for each in equations(jax.make_jaxpr(f)(*inputs))}
    known = tomllib.loads((specs_directory() / "tracing" / "jax.toml").read_text(encoding="utf-8"))
    names = {name for key, value in known.items() if key != "parameters" for name in value}
    assert sorted(names - tried) == []


def test_a_backward_that_jax_does_not_have_is_not_called_wrong() -> None:
    found = report(lambda x: lax.while_loop(lambda y: y.sum() < 10, lambda y: y * 1.5, x**2), (SIGNS,), strict=False)
    assert (found.outcome, found.cause) == ("inconclusive", "unsupported")


def with_rules(value: float, *, forward: bool) -> Function:
    """Return a square whose rule gives so much more than the function itself does."""
    if forward:
        pushed = jax.custom_jvp(jnp.square)
        pushed.defjvp(lambda primals, tangents: (primals[0] ** 2 + value, 2 * primals[0] * tangents[0]))
        return pushed  # type: ignore[no-any-return]
    pulled = jax.custom_vjp(jnp.square)
    pulled.defvjp(lambda x: (x**2 + value, x), lambda x, g: (2 * x * g,))
    return pulled  # type: ignore[no-any-return]


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize(("value", "outcome"), [(0.0, "right"), (1e-6, "wrong")])
def test_a_rule_that_gives_another_value_than_the_function_is_wrong(
    value: float, outcome: str, *, forward: bool
) -> None:
    found = report(with_rules(value, forward=forward), (SIGNS,), forward=forward)
    assert found.outcome == outcome
    if value:
        assert str(found) == "output 0 is another value when the function is differentiated"
