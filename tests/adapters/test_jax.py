"""Do JAX's inventories hold its differentiable primitives and functions, and see which of them are reached?"""

from __future__ import annotations

from typing import Any

import pytest

from refgrad.native.adapter import Inventory

jax: Any = pytest.importorskip("jax", reason="needs refgrad[jax]")

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def primitives() -> Inventory:
    from refgrad.adapters.jax import primitives  # noqa: PLC0415 (needs JAX)

    return primitives()


@pytest.fixture(scope="module")
def functions() -> Inventory:
    from refgrad.adapters.jax import functions  # noqa: PLC0415 (needs JAX)

    return functions()


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


@pytest.mark.slow
def test_a_function_counts_if_a_program_of_it_can_be_pulled_back(functions: Inventory) -> None:
    counted = {"jax.numpy.exp", "jax.numpy.add", "jax.nn.relu", "jax.numpy.linalg.inv", "jax.scipy.special.ndtri"}
    assert counted <= functions.entries
    assert not functions.entries & {"jax.numpy.argmax", "jax.numpy.equal", "jax.numpy.ones_like", "jax.numpy.eye"}


@pytest.mark.slow
def test_functions_of_the_same_program_are_one_under_several_names(functions: Inventory) -> None:
    assert {"jax.numpy.abs", "jax.numpy.absolute", "jax.numpy.fabs"} in functions.synonyms
    grouped = frozenset[str]().union(*functions.synonyms)
    assert not grouped & {"jax.numpy.exp", "jax.numpy.squeeze", "jax.numpy.hstack"}


@pytest.mark.slow
def test_public_names_are_seen_where_they_are_called_and_put_back(functions: Inventory) -> None:
    before = jax.numpy.exp
    names = functions.reached(lambda x: jax.nn.softplus(jax.numpy.exp(x)), [jax.numpy.ones(3)])
    assert set(names) == {"jax.nn.softplus", "jax.numpy.exp"}
    assert jax.numpy.exp is before
