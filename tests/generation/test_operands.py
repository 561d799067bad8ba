"""Tests that operands whose shapes follow patterns fit together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refgrad.generation import Choices, Profile
from refgrad.generation.admission import AppliedOperator
from refgrad.generation.operands import _multiplies, bound, chosen, nearest
from refgrad.operators import operator_table

PATTERNS = (
    ("... n k", "... k m"),
    ("n c l", "o c 3", "o"),
    ("... n n", "... n"),
    ("n c ...", "c", "c ..."),
    ("2 2",),
    ("...", "..."),
)


@given(st.sampled_from(PATTERNS), st.lists(st.integers(0, 4), max_size=4), st.integers(0, 2**32))
def test_shapes_that_are_chosen_one_after_the_other_fit(patterns: tuple[str, ...], start: list[int], seed: int) -> None:
    choices = Choices(seed)
    shapes: tuple[tuple[int, ...], ...] = (nearest(patterns[0], tuple(start)),)
    assert bound(patterns, shapes) is not None
    while len(shapes) < len(patterns):
        shapes += (chosen(choices, patterns, shapes, Profile()),)
        assert bound(patterns, shapes) is not None


@pytest.mark.parametrize(
    ("patterns", "shapes"),
    [
        (("... n k", "... k m"), ((2, 3), (2, 3))),
        (("... n k", "... k m"), ((5, 2, 3), (3, 2))),
        (("... n n",), ((2, 3),)),
        (("... n n",), ((2,),)),
        (("n 3",), ((2, 2),)),
        (("n",), ((2, 2),)),
    ],
)
def test_shapes_that_do_not_fit_are_told(patterns: tuple[str, ...], shapes: tuple[tuple[int, ...], ...]) -> None:
    assert bound(patterns, shapes) is None


def test_a_letter_is_bound_to_its_length_and_the_dots_to_their_axes() -> None:
    assert bound(("... n k", "... k m"), ((5, 4, 2, 3), (5, 4, 3, 7))) == {
        "...": (5, 4), "n": (2,), "k": (3,), "m": (7,)
    }  # fmt: skip


@given(*[st.lists(st.integers(1, 3), min_size=size, max_size=4).map(tuple) for size in (1, 0)])
@example((5, 2, 3), (4, 3, 2))
def test_matrices_are_multiplied_if_numpy_does(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    try:
        np.matmul(np.ones(left), np.ones(right))
    except ValueError:
        assert not _multiplies((left,), right)
    else:
        assert _multiplies((left,), right)


@given(st.lists(st.integers(0, 5), max_size=5))
def test_the_nearest_shape_is_the_given_one_where_that_fits(shape: list[int]) -> None:
    given = tuple(shape)
    if bound(("... n k",), (given,)) is not None:
        assert nearest("... n k", given) == given


@pytest.mark.parametrize(
    ("operator", "shapes", "fitting"),
    [
        ("vstack", ((2, 3), (2, 3)), True),
        ("vstack", ((2, 3), (1, 3)), False),
        ("scaled_dot_product_attention", ((2, 3), (4, 3), (4, 5)), True),
        ("scaled_dot_product_attention", ((2, 3), (4, 2), (4, 5)), False),
    ],
)
def test_operands_are_of_shapes_that_fit_together(
    operator: str, shapes: tuple[tuple[int, ...], ...], *, fitting: bool
) -> None:
    row = operator_table()[operator]
    arrays = [np.ones(shape) for shape in shapes]
    assert AppliedOperator(row, arrays, row.bind({})).well_formed is fitting
