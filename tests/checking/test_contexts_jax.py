"""Are rules of JAX found that are right in the plain call only?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients

jax: Any = pytest.importorskip("jax", reason="needs refgrad[jax]")
jnp: Any = pytest.importorskip("jax.numpy", reason="needs refgrad[jax]")

pytestmark = pytest.mark.engines

Rule = Callable[..., Any]

X, Y = np.array([0.5, 1.25, 2.0]), np.array([1.5, 0.75, 1.0])


def product(backward: Rule) -> Rule:
    """Return the product with a backward of its own."""
    rule = jax.custom_vjp(lambda a, b: a * b)
    rule.defvjp(lambda a, b: (a * b, (a, b)), lambda saved, g: backward(g, *saved))
    return rule  # type: ignore[no-any-return]


def traced(x: Any) -> bool:
    return isinstance(x, jax.core.Tracer)


BUGS: dict[str, tuple[Rule, str, str]] = {
    "zeros": (
        product(lambda g, a, b: (b * g * (g.sum() / g.sum()), a * g)),
        "zero cotangents",
        "the cotangent is zero",
    ),
    "compiled": (
        product(lambda g, a, b: (b * g * (2.0 if traced(g) else 1.0), a * g)),
        "compiled gradient",
        "its gradient is compiled",
    ),
    "in a batch": (
        product(lambda g, a, b: (b * g * (2.0 if traced(g) else 1.0), a * g)),
        "vmap",
        "it is run by vmap in a batch of one",
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_a_wrong_rule_is_named_by_its_context(name: str) -> None:
    function, context, words = BUGS[name]
    assert check_gradients(function, (X, Y), "jax", contexts=()).outcome == "right"
    report = check_gradients(function, (X, Y), "jax", contexts=context, raise_exception=False)
    assert report.outcome == "wrong"
    assert f"wrong when {words}" in str(report).splitlines()[0]


def test_a_right_rule_passes_in_all_contexts() -> None:
    report = check_gradients(product(lambda g, a, b: (b * g, a * g)), (X, Y), "jax", contexts="all")
    assert set(report.contexts) == {
        "subsets",
        "zero cotangents",
        "one tensor twice",
        "vmap",
        "compile",
        "compiled gradient",
    }
    assert len(report.refused) == 1  # custom_vjp has no forward mode


def test_the_program_prints_the_wrong_number() -> None:
    function, _, _ = BUGS["zeros"]
    message = str(check_gradients(function, (X, Y), "jax", raise_exception=False))
    printed: list[Any] = []
    program = message.split("\n  to see it:\n")[1].replace("\n    ", "\n").strip()
    exec(compile(program, "<program>", "exec"), {"function": function, "print": printed.append})
    assert np.isnan(printed[0])
