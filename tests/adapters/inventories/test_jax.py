"""Does JAX's inventory hold its differentiable primitives, and see which of them are reached?"""

from __future__ import annotations

from typing import Any

import pytest

from refgrad.harness import Inventory

jax: Any = pytest.importorskip("jax", reason="needs refgrad[jax]")

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def primitives() -> Inventory:
    from refgrad.adapters.inventories.jax_primitives import inventories  # noqa: PLC0415 (needs JAX)

    return inventories()[0]


def test_a_primitive_counts_or_is_set_apart_or_undecided(primitives: Inventory) -> None:
    parts = [primitives.entries, *primitives.apart.values(), *primitives.undecided.values()]
    assert sum(map(len, parts)) == len(frozenset[str]().union(*parts))


def test_what_has_a_rule_counts(primitives: Inventory) -> None:
    assert {"exp", "sort", "dot_general", "floor", "sign", "scatter-add", "svd"} <= primitives.entries
    assert not primitives.entries & {
        "eq",
        "and",
        "shift_left",
        "psum",
        "fft",
        "cond",
        "jit",
        "random_bits",
        "io_callback",
    }


def test_primitives_are_seen_inside_of_other_programs(primitives: Inventory) -> None:
    def function(x: Any) -> Any:
        return jax.jit(jax.numpy.sort)(x) + jax.lax.cond(True, jax.numpy.exp, jax.numpy.sin, x)  # noqa: FBT003

    assert primitives.entries.intersection(primitives.reached(function, [jax.numpy.ones(3)])) == {
        "sort",
        "add",
        "exp",
        "sin",
    }


def test_what_gives_or_takes_no_real_numbers_is_not_reached(primitives: Inventory) -> None:
    def function(x: Any) -> Any:
        return jax.numpy.where(jax.numpy.isfinite(x) & (x > 0), x, 0.0)

    reached = set(primitives.reached(function, [jax.numpy.ones(3)]))
    assert "select_n" in reached
    assert not reached & {"is_finite", "and", "gt"}
