"""What a program asks of known shapes is written as numbers, and nothing else of it is changed."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.report.findings.folding import with_shapes
from refgrad.report.findings.tidying import tidied
from refgrad.report.findings.trees import pieces

SHAPES = {"a": (2, 3), "b": (4,), "c": ()}


def decided(text: str) -> str:
    return ast.unparse(with_shapes(ast.parse(text).body[0], SHAPES))


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("f(a.shape)", "f((2, 3))"),
        ("f(a, a.shape[-1:])", "f(a, (3,))"),
        ("f(a.shape[-1] // b.shape[0], a.ndim)", "f(0, 2)"),
        ("f(tuple(range(a.ndim))[::-1])", "f((1, 0))"),
        ("f(torch.tensor((1, 0)).reshape(a.shape[:1] * (a.ndim > 1) + a.shape[2:]))", "f(torch.tensor((1, 0)))"),
        ("f(torch.tensor((1, 0)).reshape(a.shape))", "f(torch.tensor((1, 0)).reshape((2, 3)))"),
        ("f(x.shape[0], c.ndim, a.shape[n], a.size)", "f(x.shape[0], c.ndim, (2, 3)[n], a.size)"),
        ("f(a.shape[5])", "f((2, 3)[5])"),
        ("f(lambda a: a.shape)", "f(lambda a: a.shape)"),
        ("f([a.shape for a in x])", "f([a.shape for a in x])"),
        ("f(1 + 2)", "f(1 + 2)"),
        ("f(a.shape * 200000000)", "f((2, 3) * 200000000)"),
        ("f(200000000 * a.shape)", "f(200000000 * (2, 3))"),
        ("f(tuple(range(a.shape[0] * 100000000000)))", "f(tuple(range(200000000000)))"),
        ("f('x' * a.shape[0] * 10000000000)", "f('x' * 2 * 10000000000)"),
    ],
)
def test_what_shapes_decide_is_written_as_numbers(asked: str, known: str) -> None:
    assert decided(asked) == known


def test_helpers_are_left_and_functions_of_the_program_are_not() -> None:
    text = "def helper(a):\n    for n in a.shape:\n        print(n)\n\n\nhelper(a)\nprint(a.ndim)\n"
    assert tidied([], pieces(text), SHAPES) == text.replace("a.ndim", "2")
    inner = "def program_b(a):\n    print(a.shape)\n    return f(a, a.shape)\n\n\nprint(program_b(x))\n"
    expected = inner.replace("a.shape", "(2, 3)").replace("program_b", "g")
    assert tidied([], pieces(inner), SHAPES) == expected


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple),
    st.sampled_from(["a.shape", "a.ndim", "a.shape[0]", "a.shape[1:]", "a.shape * (a.ndim > 1)", "len(a.shape) + 1"]),
)
def test_the_value_is_that_of_the_array(shape: tuple[int, ...], asked: str) -> None:
    known = ast.unparse(with_shapes(ast.parse(asked).body[0], {"a": shape}))
    assert "a" not in known
    assert eval(known) == eval(asked, {"a": SimpleNamespace(shape=shape, ndim=np.ndim(np.zeros(shape)))})
