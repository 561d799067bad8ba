"""Is the reverse rule of each operator right, linear, and content with what it says it saves?"""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import Profile, operator_scenario
from refgrad.interpreter import keywords, numpy_forward
from refgrad.operators import operator_table
from refgrad.oracles import CertifiedOracle, judge
from tests.effort import each, seeds
from tests.generation.scenario_audit import steps_may_overflow
from tests.operators.rules import NumpyOperators, gradients, vjp
from tests.oracles.agreement import only_backward

Array = npt.NDArray[np.float64]
MAXIMUM_RANK_PROFILE = Profile(max_rank=4, dimensions=(1, 2, 3))

RULES: list[tuple[str, tuple[tuple[int, ...], ...], dict[str, Any]]] = [
    *(
        (name, ((2, 3, 4),), {"axis": axis, "keepdims": keepdims})
        for name in ("sum", "mean", "prod", "max", "min")
        for axis in (None, 0, -1, (1, 2), (2, 0), (-1, -3), (2, 0, 1), ())
        for keepdims in (False, True)
    ),
    *((name, ((),), {}) for name in ("sum", "mean", "prod", "max", "min")),
    *((name, ((0, 3),), {"axis": axis}) for name in ("sum", "prod") for axis in (None, 0, 1)),
    *((("transpose"), ((2, 3, 4),), {"axes": axes}) for axes in (None, *permutations(range(3)), (-1, 0, 1))),
    ("transpose", ((),), {}),
    ("reshape", ((2, 6),), {"shape": (3, -1)}),
    ("reshape", ((),), {"shape": (1, 1)}),
    ("reshape", ((0, 3),), {"shape": (3, 0)}),
    ("broadcast_to", ((2, 1, 3),), {"shape": (4, 2, 5, 3)}),
    ("broadcast_to", ((1, 1),), {"shape": (2, 3)}),
    ("broadcast_to", ((),), {"shape": (2, 2)}),
    ("broadcast_to", ((1, 3),), {"shape": (0, 3)}),
    ("expand_dims", ((2, 3),), {"axis": -1}),
    ("squeeze", ((2, 1, 3),), {"axis": -2}),
    ("flip", ((2, 3),), {"axis": None}),
    ("flip", ((2, 3, 4),), {"axis": (-1, 0)}),
    ("index", ((5, 3),), {"index": (slice(None, None, -2), 1)}),
    ("index", ((5, 3),), {"index": ((0, 4, 0, -1, 0),)}),
    ("index", ((5, 3),), {"index": (slice(1, 4), (2, 2, 0))}),
    ("index", ((2, 5, 3),), {"index": ((0, 1, 1), slice(None), (2, 2, 2))}),
    ("index", ((3,),), {"index": (-1,)}),
    ("index", ((3,),), {"index": (slice(2, 2),)}),
    ("take", ((4, 3),), {"axis": 0, "indices": ((0, 0), (3, 0))}),
    ("take", ((4, 3),), {"axis": -1, "indices": (2, -1, 2)}),
    ("take", ((4, 3),), {"axis": 1, "indices": 0}),
    ("add_at", ((3,),), {"shape": (4,), "index": ((0, 0, 2),)}),
    ("add_at", ((2, 2),), {"shape": (3, 5), "index": (slice(None, None, 2), (4, 4))}),
    ("add_at", ((2,),), {"shape": (3, 2), "index": (1,)}),
    ("concatenate", ((2, 3), (2, 1), (2, 0)), {"axis": -1}),
    ("concatenate", ((2, 3),), {"axis": 0}),
    ("stack", ((2, 3), (2, 3), (2, 3)), {"axis": -1}),
    ("stack", ((), ()), {}),
    *(
        ("matmul", shapes, {})
        for shapes in [
            ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)),
            ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((1, 2, 3), (6, 3, 1)),
            ((2, 0), (0, 3)), ((0,), (0,)), ((0, 2, 3), (3, 2)), ((1, 1), (1, 1)), ((4, 5, 2, 3), (3,)),
        ]
    ),
]  # fmt: skip


def drawn(shapes: tuple[tuple[int, ...], ...], seed: int = 0) -> list[Array]:
    """Arrays of these shapes whose entries are all different."""
    random = np.random.default_rng(seed)
    return [random.permutation(np.arange(1.0, np.prod(shape) + 1)).reshape(shape) / 3 + 0.1 for shape in shapes]


def forward(name: str, arrays: list[Array], attributes: dict[str, Any]) -> Array:
    operator = operator_table()[name]
    return np.asarray(numpy_forward(operator)(*arrays, **operator.bind(attributes)))


@each(("name", "shapes", "attributes"), RULES)
def test_a_rule_is_the_transpose_of_what_the_function_does_to_first_order(
    name: str, shapes: tuple[tuple[int, ...], ...], attributes: dict[str, Any]
) -> None:
    """⟨vjp(g), d⟩ is the derivative of ⟨g, f⟩ along d, for a random direction d."""
    arrays = drawn(shapes)
    random = np.random.default_rng(1)
    directions = [random.normal(size=array.shape) for array in arrays]
    cotangent = random.normal(size=forward(name, arrays, attributes).shape)
    kept = [array.copy() for array in [*arrays, cotangent]]
    shares = vjp(name, arrays, attributes, cotangent)
    assert [np.shape(share) for share in shares if share is not None] == list(shapes)
    assert all(np.array_equal(a, b) for a, b in zip(kept, [*arrays, cotangent], strict=True)), "an input was modified"
    along = sum(float(np.vdot(share, d)) for share, d in zip(shares, directions, strict=True) if share is not None)
    h = 1e-4
    above, below = (
        float(
            np.vdot(cotangent, forward(name, [a + s * d for a, d in zip(arrays, directions, strict=True)], attributes))
        )
        for s in (h, -h)
    )
    assert along == pytest.approx((above - below) / (2 * h), rel=1e-6, abs=1e-6)


@each(("name", "shapes", "attributes"), RULES)
def test_a_rule_is_linear_in_the_cotangent(
    name: str, shapes: tuple[tuple[int, ...], ...], attributes: dict[str, Any]
) -> None:
    arrays = drawn(shapes)
    random = np.random.default_rng(2)
    g, h = (random.normal(size=forward(name, arrays, attributes).shape) for _ in range(2))
    together = vjp(name, arrays, attributes, 2 * g - 3 * h)
    apart = zip(vjp(name, arrays, attributes, g), vjp(name, arrays, attributes, h), strict=True)
    for share, (by_g, by_h) in zip(together, apart, strict=True):
        assert by_g is not None
        assert by_h is not None
        assert np.allclose(share, 2 * by_g - 3 * by_h, rtol=1e-12, atol=1e-12)  # type: ignore[arg-type]


@each("name", operator_table())
def test_the_rules_of_every_row_are_certified(name: str) -> None:
    outcomes: Counter[str] = Counter()
    for seed in seeds(15):
        scenario = operator_scenario(seed, name, MAXIMUM_RANK_PROFILE)
        if steps_may_overflow(scenario):
            continue
        contributions = only_backward(scenario)
        oracle = CertifiedOracle(scenario)
        for leaf, gradient in gradients(scenario, contributions).items():
            judgement = judge(np.asarray(gradient), oracle.gradient(leaf, contributions))
            outcomes[judgement.outcome] += 1
            assert judgement.outcome in {"passed", "inconclusive"}, f"seed {seed}, {leaf}: {judgement}"
    assert outcomes["inconclusive"] <= 1, "a matrix may be all but singular, once"


@given(
    st.integers(0, 2**32),
    st.sampled_from([n for n, o in operator_table().items() if len(o.arguments) > 1 and o.composite is None]),
)
def test_a_rule_may_be_asked_for_one_argument_and_saves_only_what_that_needs(seed: int, name: str) -> None:
    scenario = operator_scenario(seed, name)
    values = {leaf.name: leaf.value.to_numpy() for leaf in scenario.leaves}
    step = scenario.applications[0]
    arrays = [values[argument] for argument in step.arguments]
    cotangent = np.ones(forward(name, arrays, keywords(step)).shape)
    everything = vjp(name, arrays, keywords(step), cotangent)
    for index, array in enumerate(arrays):
        if array.dtype != np.bool_:
            single = vjp(name, arrays, keywords(step), cotangent, [i == index for i in range(len(arrays))])
            assert np.array_equal(single[index], everything[index])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
        ([2.0, 0.0, 4.0], [0.0, 8.0, 0.0]),
        ([0.0, 3.0, 0.0], [0.0, 0.0, 0.0]),
        ([0.0, -0.0, 0.0], [0.0, 0.0, 0.0]),
        ([0.0], [1.0]),
    ],
)
def test_a_product_with_zeros_has_the_product_of_the_others_as_its_slope(x: list[float], expected: list[float]) -> None:
    assert vjp("prod", [np.array(x)], {}, np.array(1.0))[0] == pytest.approx(expected)


def test_the_rule_of_a_product_keeps_axes_apart() -> None:
    x = np.array([[2.0, 0.0], [3.0, 5.0], [0.0, 7.0]])
    (gradient,) = vjp("prod", [x], {"axis": 0}, np.array([1.0, 10.0]))
    assert gradient == pytest.approx(np.array([[0.0, 350.0], [0.0, 0.0], [6.0, 0.0]]))


@pytest.mark.parametrize("name", ["max", "min"])
def test_tied_entries_share_equally(name: str) -> None:
    x = np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 5.0]]) * (1 if name == "min" else -1)
    (gradient,) = vjp(name, [x], {"axis": 1}, np.array([3.0, 4.0]))
    assert gradient == pytest.approx(np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 0.0]]))


def test_a_repeated_index_receives_every_cotangent() -> None:
    (gradient,) = vjp("take", [np.zeros(3)], {"indices": (1, 1, 0, 1)}, np.array([1.0, 2.0, 4.0, 8.0]))
    assert gradient is not None
    assert gradient.tolist() == [4.0, 11.0, 0.0]


@pytest.mark.parametrize("axes", [(1, 2, 0), (2, 0, 1)])
def test_a_cycle_of_three_axes_is_undone_by_its_inverse(axes: tuple[int, ...]) -> None:
    x = drawn(((2, 3, 4),))[0]
    moved = NumpyOperators().transpose(x, axes=axes)
    (back,) = vjp("transpose", [x], {"axes": axes}, moved)
    assert np.array_equal(back, x)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "shape"), [("add", (1, 3)), ("multiply", ()), ("divide", (3,)), ("power", (2, 1, 1))])
def test_what_was_broadcast_is_summed(name: str, shape: tuple[int, ...]) -> None:
    arrays = drawn(((2, 4, 3), shape))
    gradient = vjp(name, arrays, {}, np.ones((2, 4, 3)))[1]
    assert gradient is not None
    assert gradient.shape == shape
    h = 1e-5
    moved = [forward(name, [arrays[0], arrays[1] + s * h], {}).sum() for s in (1, -1)]
    assert gradient.sum() == pytest.approx((moved[0] - moved[1]) / (2 * h), rel=1e-6)
