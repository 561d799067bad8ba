"""Are gates, tables of vectors and attention those of PyTorch?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from tests.operators.applying import applied, assert_close

random = np.random.default_rng(6)
QUERY, KEY, VALUE = random.normal(size=(2, 4, 3)), random.normal(size=(2, 5, 3)), random.normal(size=(2, 5, 2))
MASK = random.random((4, 5)) < 0.6
MASK[:, 0] = True


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.engines
def test_attention_is_that_of_torch(is_causal: bool) -> None:  # noqa: FBT001
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    attention = torch.nn.functional.scaled_dot_product_attention
    expected = attention(*map(torch.tensor, (QUERY, KEY, VALUE)), is_causal=is_causal)
    assert_close(applied("scaled_dot_product_attention", QUERY, KEY, VALUE, is_causal=is_causal), expected)


@pytest.mark.engines
def test_a_mask_leaves_keys_out_as_in_torch() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    attention = torch.nn.functional.scaled_dot_product_attention
    expected = attention(*map(torch.tensor, (QUERY, KEY, VALUE, MASK)))
    assert_close(applied("masked_dot_product_attention", QUERY, KEY, VALUE, MASK), expected)


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_gates_take_halves(axis: int) -> None:
    first, second = np.split(QUERY, 2, axis=axis)
    assert_close(applied("glu", QUERY, axis=axis), first * expit(second))
    assert_close(applied("swiglu", QUERY, axis=axis), first * expit(first) * second)


def test_an_odd_axis_has_no_halves() -> None:
    with pytest.raises(ValueError, match="two halves"):
        applied("glu", QUERY, axis=2)


def test_a_table_is_read_by_rows() -> None:
    assert_close(applied("embedding", QUERY[0], indices=((0, 2), (2, -1))), QUERY[0][[[0, 2], [2, 3]]])


def test_attention_needs_keys_and_entries() -> None:
    for width, keys in ((0, 2), (2, 0)):
        with pytest.raises(ValueError, match="attention needs"):
            applied("scaled_dot_product_attention", np.ones((1, width)), np.ones((keys, width)), np.ones((keys, 1)))
