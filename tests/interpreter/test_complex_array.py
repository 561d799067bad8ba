"""Are functions of complex numbers right to a few bits in both parts, and is every operation shaken by more?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import each
from tests.interpreter.complex_array import ROUNDOFFS, ComplexArray, Shaking

STEP = 2.0**-100
UNIT = 2.0**-53
TINIEST = 1e-290

TRUE: Mapping[str, Callable[[acb], acb]] = MappingProxyType({
    "exp": acb.exp,
    "expm1": lambda z: z.exp() - 1,
    "exp2": lambda z: (z * arb(2).log()).exp(),
    "log": acb.log,
    "log1p": lambda z: (1 + z).log(),
    "log2": lambda z: z.log() / arb(2).log(),
    "log10": lambda z: z.log() / arb(10).log(),
    "sqrt": acb.sqrt,
    "sin": acb.sin,
    "cos": acb.cos,
    "tan": acb.tan,
    "arcsin": acb.asin,
    "arccos": acb.acos,
    "arctan": acb.atan,
    "sinh": acb.sinh,
    "cosh": acb.cosh,
    "tanh": acb.tanh,
    "arcsinh": acb.asinh,
    "arccosh": acb.acosh,
    "arctanh": acb.atanh,
})

ANYWHERE = st.one_of(st.floats(-50, 50), st.floats(-1e-3, 1e-3), st.integers(-40, 40).map(lambda n: n * math.pi / 4))
POSITIVE = st.one_of(st.floats(1e-12, 1e3), st.floats(-0.01, 0.01).map(lambda x: 1 + x))
INSIDE = st.one_of(st.floats(-0.99, 0.99), st.floats(1e-12, 0.1).map(lambda x: 1 - x), st.floats(-1e-6, 1e-6))
ABOVE = st.one_of(st.floats(1.001, 1e3), st.floats(1e-12, 0.1).map(lambda x: 1 + x))
WITHIN: Mapping[str, st.SearchStrategy[float]] = MappingProxyType(
    dict.fromkeys(("log", "log2", "log10", "sqrt"), POSITIVE)
    | dict.fromkeys(("arcsin", "arccos", "arctanh"), INSIDE)
    | {"log1p": st.one_of(POSITIVE, INSIDE), "arccosh": ABOVE}
)


@contextmanager
def bits(count: int) -> Iterator[None]:
    before, ctx.prec = ctx.prec, count
    try:
        yield
    finally:
        ctx.prec = before


def roundoffs(result: complex, truth: acb) -> float:
    """Return the larger relative error of the two parts in units of roundoff; parts as small as underflow are right."""
    pairs = ((result.real, truth.real), (result.imag, truth.imag))
    return max(abs(float((arb(a) - b) / b)) / UNIT for a, b in pairs if abs(float(b)) > TINIEST)


def complex_array(number: Any, shaking: Shaking | None = None) -> ComplexArray:
    return ComplexArray.of(np.asarray(number, dtype=np.complex128), shaking)


@pytest.mark.parametrize("name", sorted(TRUE))
@given(data=st.data(), speed=st.sampled_from([1.0, -3e5]))
def test_a_function_is_right_to_a_few_bits_in_both_parts(name: str, data: st.DataObject, speed: float) -> None:
    x = data.draw(WITHIN.get(name, ANYWHERE).filter(lambda x: x == 0 or abs(x) > TINIEST))
    result = complex(getattr(np, name)(complex_array(complex(x, speed * STEP))))
    with bits(2000):
        assert roundoffs(result, TRUE[name](acb(x, speed * STEP))) <= ROUNDOFFS


@given(POSITIVE, st.floats(-20, 20), st.sampled_from([(1.0, 0.0), (0.0, 1.0), (-7.0, 0.0), (3.0, 4.0)]))
def test_a_power_is_right_to_a_few_bits_in_both_parts(x: float, y: float, speeds: tuple[float, float]) -> None:
    """Where base and exponent move against each other, the imaginary part is a difference of what is right."""
    base, exponent = complex(x, speeds[0] * STEP), complex(y, speeds[1] * STEP)
    result = complex(complex_array(base) ** complex_array(exponent))
    with bits(2000):
        truth = acb(base.real, base.imag) ** acb(exponent.real, exponent.imag)
        terms = abs(speeds[0] * y / x) + abs(speeds[1] * math.log(x))
        sum_of_terms = abs(speeds[0] * y / x + speeds[1] * math.log(x))
        room = ROUNDOFFS * terms / sum_of_terms if sum_of_terms else math.inf
        assert roundoffs(result, truth) <= max(room, ROUNDOFFS)


def test_the_logarithm_of_one_plus_a_little_keeps_the_little() -> None:
    assert complex(np.log1p(complex_array(1e-12 + 1j * STEP))).real == pytest.approx(math.log1p(1e-12), rel=1e-15)


def test_powers_of_what_is_not_positive_are_numpy_s_own() -> None:
    assert complex(complex_array(-2.0) ** 2) == 4
    assert complex(complex_array(2j) ** 2) == pytest.approx(-4)


OPERATIONS: Mapping[str, Callable[[Any], Any]] = MappingProxyType({
    "a sum": lambda x: x + x[::-1],
    "a product": lambda x: x * x[::-1],
    "a quotient": lambda x: x / x[::-1],
    "a function": np.exp,
    "a power": lambda x: x**1.5,
    "a total": lambda x: x.sum(keepdims=True),
    "a mean": lambda x: np.mean(x, keepdims=True),
    "a product of all": lambda x: np.prod(x, keepdims=True),
    "a matrix product": lambda x: x[None] @ x[:, None],
    "what another function returns": lambda x: np.exp(np.where(x.real > 0, x, -x)),
})


@each("operation", sorted(OPERATIONS))
def test_shaking_moves_both_parts_of_every_operation_by_a_few_bits(operation: str) -> None:
    x = np.array([0.3 + 0.7j, 1.1 - 0.2j, 2.3 + 0.9j])
    exact = np.asarray(OPERATIONS[operation](complex_array(x)))
    shaking = Shaking(np.random.default_rng(0))
    moved = np.stack([np.asarray(OPERATIONS[operation](complex_array(x, shaking))) for _ in range(8)])
    assert np.all(np.any(moved.real != exact.real, axis=0))
    assert np.all(np.any(moved.imag != exact.imag, axis=0))
    assert np.all(np.abs(moved - exact) <= 100 * ROUNDOFFS * UNIT * np.abs(exact))


def test_perturbation_changes_entries_added_at_indices() -> None:
    target = np.zeros(2, dtype=np.complex128)
    np.add.at(target, [1], complex_array([1.0 + 1.0j], Shaking(np.random.default_rng(0))))
    assert target[0] == 0
    assert target[1] not in {0, 1.0 + 1.0j}


def test_perturbation_changes_neither_zeros_nor_rearranged_entries() -> None:
    x = complex_array([0.0, 1.0 + 2.0j], Shaking(np.random.default_rng(0)))
    assert np.array_equal(x.reshape(2, 1)[::-1, 0], [1.0 + 2.0j, 0.0])
    assert np.exp(x - x).tolist() != [1.0, 1.0]
    assert (x - x).tolist() == [0.0, 0.0]


def test_perturbed_entries_change_by_eight_roundoffs_up_or_down() -> None:
    moved = Shaking(np.random.default_rng(0))(np.ones(100)) - 1
    assert set(moved.tolist()) == {-8 * UNIT, 8 * UNIT}
