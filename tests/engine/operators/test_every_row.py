"""Does every row of the table have the right gradient in the engine, to first and to second order?"""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import refgrad.engine as torch
from refgrad.engine import Tensor
from refgrad.interpreter import NUMPY_FUNCTIONS
from refgrad.operators import Operator, operator_table
from tests.effort import each, seeds
from tests.operators.example_attributes import example_attributes

TABLE = operator_table()
ELEMENTWISE = [row for row in TABLE.values() if row.elementwise]
STRUCTURAL = [row for row in TABLE.values() if row.structure is not None]
Function = Callable[..., Tensor]

SHAPES = [((), (), ()), ((3,), (), (3,)), ((2, 1), (3,), (1, 1)), ((1,), (2, 3), ()), ((), (2,), (2,))]
"""Shapes of up to three arguments, which are broadcast."""

# For every structural operator, shapes of its arguments and attributes that reach every branch of its rule.
CASES: MappingProxyType[str, Sequence[tuple[Sequence[tuple[int, ...]], dict[str, Any]]]] = MappingProxyType({
    **{
        name: [
            ([(2, 3)], {}),
            ([(2, 3)], {"axis": 1}),
            ([(2, 3, 2)], {"axis": (0, -1), "keepdims": True}),
            ([()], {}),
            ([(4,)], {"axis": (0,)}),
        ]
        for name in ("sum", "mean", "prod", "max", "min")
    },
    "reshape": [([(2, 3)], {"shape": (3, -1)}), ([(1,)], {"shape": ()}), ([()], {"shape": (1, 1)})],
    "transpose": [([(2, 3, 4)], {"axes": (2, 0, 1)}), ([(2, 3)], {}), ([()], {})],
    "broadcast_to": [([(3, 1)], {"shape": (2, 3, 4)}), ([()], {"shape": (2,)})],
    "expand_dims": [([(2, 3)], {"axis": -1}), ([()], {"axis": 0})],
    "squeeze": [([(2, 1, 3)], {"axis": 1})],
    "flip": [([(2, 3)], {"axis": 1}), ([(2, 3)], {})],
    "concatenate": [([(2, 3), (2, 1), (2, 0)], {"axis": -1}), ([(2,)], {})],
    "stack": [([(2, 3), (2, 3)], {"axis": 1}), ([(), ()], {})],
    "index": [
        ([(4, 3)], {"index": (slice(None, None, -2), 1)}),
        ([(4, 3)], {"index": ((0, 2, 2), slice(1, None))}),
        ([(4,)], {"index": (3,)}),
    ],
    "take": [([(4, 3)], {"axis": 1, "indices": (2, 0, 2)}), ([(4,)], {"indices": 1})],
    "add_at": [([(3, 2)], {"shape": (4, 2), "index": ((1, 1, 3),)})],
    "matmul": [
        ([(2, 3), (3, 4)], {}),
        ([(3,), (3,)], {}),
        ([(3,), (3, 2)], {}),
        ([(2, 3), (3,)], {}),
        ([(2, 1, 2, 3), (4, 3, 2)], {}),
        ([(3,), (2, 3, 2)], {}),
    ],
})


def scalar_of(function: Function, weights: np.ndarray[Any, Any] | float) -> Callable[[Sequence[Tensor]], Tensor]:
    """A weighted sum of what ``function`` returns, so that every entry counts differently."""
    return lambda inputs: (function(*inputs) * weights).sum()


def slope(
    function: Callable[[Sequence[Tensor]], Tensor], directions: Sequence[Any]
) -> Callable[[Sequence[Tensor]], Tensor]:
    """The derivative of a scalar function along ``directions``, by the engine."""

    def derivative(inputs: Sequence[Tensor]) -> Tensor:
        gradients = torch.grad(function(inputs), list(inputs), create_graph=True, allow_unused=True)
        terms = [(g * d).sum() for g, d in zip(gradients, directions, strict=True) if g is not None]
        return sum(terms, torch.tensor(0.0))

    return derivative


def difference(
    function: Callable[[Sequence[Tensor]], Tensor], points: Sequence[Any], directions: Sequence[Any]
) -> float:
    """The same by central differences of fourth order."""
    step = 1e-3

    def at(k: int) -> float:
        moved = [torch.tensor(p + k * step * d, requires_grad=True) for p, d in zip(points, directions, strict=True)]
        return float(function(moved).item())

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


def assert_two_orders(function: Function, points: Sequence[np.ndarray[Any, Any]], random: np.random.Generator) -> None:
    directions = [0.1 * random.standard_normal(point.shape) for point in points]
    output = function(*map(torch.tensor, points))
    scalar = scalar_of(function, random.standard_normal(output.shape))
    first = slope(scalar, directions)
    second = slope(first, directions)
    leaves = [torch.tensor(point, requires_grad=True) for point in points]
    assert first(leaves).item() == pytest.approx(difference(scalar, points, directions), rel=1e-6, abs=1e-8)
    if first(leaves).requires_grad:
        assert second(leaves).item() == pytest.approx(difference(first, points, directions), rel=1e-5, abs=1e-7)


def inside(row: Operator, name: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray[Any, Any]:
    low, high = row.samples[name]
    margin = (high - low) / 20  # so that differences stay inside
    return random.uniform(low + margin, high - margin, shape)


@each("row", ELEMENTWISE)
@each("seed", seeds(25))
def test_an_elementwise_row_is_right_to_second_order(row: Operator, seed: int) -> None:
    shapes = SHAPES[seed % len(SHAPES)]
    random = np.random.default_rng(seed)
    names = row.differentiable_arguments
    points = [inside(row, name, shape, random) for name, shape in zip(names, shapes, strict=False)]
    if row.edges:
        points = [away_from_kinks(point, i) for i, point in enumerate(points)]
    attributes = example_attributes(row)
    conditions = [random.random(shapes[2]) > 0.5 for argument in row.arguments if argument.dtype == "bool"]
    function = getattr(torch, row.name)
    assert_two_orders(lambda *inputs: function(*conditions, *inputs, **attributes), points, random)


def away_from_kinks(point: np.ndarray[Any, Any], position: int) -> np.ndarray[Any, Any]:
    """Multiples of 0.4 plus 0.13 and, for a second argument, 0.33: no ties, zeros, halves or bounds nearby."""
    return np.round(point / 0.4) * 0.4 + 0.13 + 0.2 * position


def test_every_structural_row_has_a_case() -> None:
    assert set(CASES) == {row.name for row in STRUCTURAL}


@each(
    ("name", "shapes", "attributes"),
    [(name, shapes, attributes) for name, cases in CASES.items() for shapes, attributes in cases],
)
@each("seed", seeds(25))
def test_a_structural_row_is_right_to_second_order(
    name: str, shapes: Sequence[tuple[int, ...]], attributes: dict[str, Any], seed: int
) -> None:
    random = np.random.default_rng(seed)
    points = [np.asarray(random.permutation(int(np.prod(shape))).reshape(shape) * 0.5 - 0.7) for shape in shapes]
    function = getattr(torch, name)
    if any(argument.variadic for argument in TABLE[name].arguments):
        assert_two_orders(lambda *inputs: function(inputs, **attributes), points, random)
    else:
        assert_two_orders(lambda *inputs: function(*inputs, **attributes), points, random)


@each("row", ELEMENTWISE)
def test_float32_goes_in_and_comes_out(row: Operator) -> None:
    random = np.random.default_rng(0)
    leaves = [
        torch.tensor(inside(row, name, (2,), random), dtype=torch.float32, requires_grad=True)
        for name in row.differentiable_arguments
    ]
    attributes = example_attributes(row)
    conditions = [np.array([True, False]) for argument in row.arguments if argument.dtype == "bool"]
    output = getattr(torch, row.name)(*conditions, *leaves, **attributes)
    output.sum().backward()
    assert output.dtype == torch.float32
    assert [leaf.grad.dtype for leaf in leaves] == [torch.float32] * len(leaves)


@each("row", ELEMENTWISE)
def test_the_engine_answers_at_an_edge_what_the_row_says(row: Operator) -> None:
    for edge in row.edges:
        for example in edge.examples:
            values = dict(example)
            leaves = {name: torch.tensor(values[name], requires_grad=True) for name in row.differentiable_arguments}
            attributes = {name: values[name] for name in row.attribute_names}
            with np.errstate(all="ignore"):
                getattr(torch, row.name)(*leaves.values(), **attributes).backward()
            answers = {name: leaves[name].grad.item() for name in edge.reference}
            stated = {name: there(value, values) for name, value in edge.reference.items()}
            assert answers == pytest.approx(stated, nan_ok=True)


def there(stated: float | str, values: dict[str, float]) -> float:
    """The number that an edge states at a point, perhaps by a formula."""
    return eval(stated, {**NUMPY_FUNCTIONS, **values}) if isinstance(stated, str) else stated


def test_entries_that_tie_share_the_gradient_of_their_extremum() -> None:
    x = torch.tensor([1.0, 3.0, 3.0], requires_grad=True)
    x.max().backward()
    assert x.grad.tolist() == [0.0, 0.5, 0.5]


def test_every_name_of_a_row_is_a_function_and_a_method() -> None:
    for row in TABLE.values():
        for name in (row.name, *row.aliases):
            assert callable(getattr(torch, name))
            assert callable(getattr(Tensor, name))


def test_a_product_with_zeros_is_right_to_second_order() -> None:
    x = torch.tensor([0.0, 2.0, 0.0, 3.0], requires_grad=True)
    (gradient,) = torch.grad(x.prod(), x, create_graph=True)
    assert gradient.tolist() == [0.0, 0.0, 0.0, 0.0]
    (second,) = torch.grad(gradient[0], x)
    assert second.tolist() == [0.0, 0.0, 6.0, 0.0]
