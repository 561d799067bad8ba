"""What a code template leaves undecided is decided in a printed program, and nothing else changes."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from refgrad.report.findings.folding import Folding
from tests.effort import each


def folded(text: str) -> str:
    return ast.unparse(ast.fix_missing_locations(Folding().visit(ast.parse(text))))


@each(
    ("before", "after"),
    [
        ("b = np.rot90(a, 1) if (1, 0) == (0, 1) else np.rot90(a, 1, (1, 0))", "b = np.rot90(a, 1, (1, 0))"),
        ("b = f(None if None is not None else tuple(a))", "b = f(tuple(a))"),
        ("b.go(np.array(1.0)) if np.array(1.0) is not None else b.go()", "b.go(np.array(1.0))"),
        ("x = mg.tensor(np.array(1.5), constant=not True)", "x = mg.tensor(1.5)"),
        ("x = mg.tensor(np.array(1), constant=not False)", "x = mg.tensor(np.array(1), constant=True)"),
        (
            "b = np.array([0.0]) if np.array([0.0]).dtype == bool else mg.tensor(np.array([0.0]))",
            "b = mg.tensor([0.0])",
        ),
        ("b = np.array(True) if np.array(True).dtype == bool else 0", "b = np.array(True)"),
        ("b = 1 if np.zeros(0, dtype=bool).dtype == bool else 0", "b = 1"),
        (
            "x = f(np.array([1.0, np.inf]), dtype=np.array([1.0, np.inf]).dtype)",
            "x = f(np.array([1.0, np.inf]), dtype=np.float64)",
        ),
        ("d = np.zeros((2, 0)).dtype", "d = np.float64"),
        ("d = np.array([1]).dtype", "d = np.array([1]).dtype"),
        ("d = np.array([1.0, x]).dtype", "d = np.array([1.0, x]).dtype"),
        ("d = np.array([np.pi]).dtype", "d = np.array([np.pi]).dtype"),
        ("d = np.array([1.0], dtype=np.float32).dtype", "d = np.array([1.0], dtype=np.float32).dtype"),
        ("d = np.sum([1.0]).dtype", "d = np.sum([1.0]).dtype"),
        ("b = 1 if np.ones((2,)).dtype != bool else 0", "b = 1"),
        ("x = tf.constant(np.array([1.0]), dtype=tf.float64)", "x = tf.constant([1.0], dtype=tf.float64)"),
        ("x = tf.constant(np.array([1.0]))", "x = tf.constant(np.array([1.0]))"),
        ("x = mx.np.array(np.array(1.0), dtype=np.float64)", "x = mx.np.array(1.0, dtype=np.float64)"),
        ("b = 1 if np.array(x).dtype == bool else 0", "b = 1 if np.array(x).dtype == bool else 0"),
        ("b = 1 if x == (0, 1) else 0", "b = 1 if x == (0, 1) else 0"),
        ("x = torch.tensor(np.array([1.0]), dtype=torch.float64)", "x = torch.tensor([1.0], dtype=torch.float64)"),
        ("x = torch.tensor(np.array([np.nan]), dtype=d)", "x = torch.tensor([np.nan], dtype=d)"),
        ("x = torch.tensor(np.array([np.pi]), dtype=d)", "x = torch.tensor(np.array([np.pi]), dtype=d)"),
        ("x = jnp.array(np.array([1.0]), dtype=jnp.float32)", "x = jnp.array([1.0], dtype=jnp.float32)"),
        ("x = np.array(np.array([1.0]), dtype=np.float32)", "x = np.array(np.array([1.0]), dtype=np.float32)"),
        ("b = np.split(a, list((0, 2)), 0)", "b = np.split(a, [0, 2], 0)"),
        ("x = mg.tensor(np.array([1.0], dtype=np.float32))", "x = mg.tensor(np.array([1.0], dtype=np.float32))"),
        ("l.backward(None, retain_graph=False)", "l.backward()"),
        ("l.backward(seed, retain_graph=True)", "l.backward(seed, retain_graph=True)"),
        ("s = mg.sum(a, axis=None, keepdims=False)", "s = mg.sum(a)"),
        ("s = mg.sum(a, axis=0, keepdims=True)", "s = mg.sum(a, axis=0, keepdims=True)"),
        ("s = mg.sort(a, axis=None)", "s = mg.sort(a, axis=None)"),
        ("f(*[a, b])", "f(a, b)"),
        ("f(tuple(range(len([a, b]))))", "f((0, 1))"),
        ("written(b, lambda x: x.__setitem__((0,), y))", "b[0] = y"),
        ("written(b, lambda y: x.__setitem__(0, y))", "written(b, lambda y: x.__setitem__(0, y))"),
        ("setattr(x, 'grad', 0)", "x.grad = 0"),
        ("r = {'min': 'amin'}.get('min', 'min')", "r = 'amin'"),
        ("r = {'min': 'amin'}.get('sum', 'sum')", "r = 'sum'"),
        ("def f(a):\n    b = g(a)\n    return b", "def f(a):\n    return g(a)"),
        ("def f(a):\n    b = g(a)\n    return a", "def f(a):\n    b = g(a)\n    return a"),
    ],
)
def test_a_program_is_folded(before: str, after: str) -> None:
    assert folded(before) == after


@given(st.integers(-3, 3), st.integers(-3, 3), st.sampled_from(["==", "!="]), st.booleans())
def test_a_folded_expression_has_the_value_that_it_had(one: int, other: int, sign: str, word: bool) -> None:  # noqa: FBT001
    text = f"[1 if {one} {sign} {other} else 2, not {word}, *[3, 4]]"
    assert eval(folded(text)) == eval(text)


def test_a_function_of_a_setup_that_is_called_tensor_is_given_what_it_was_given() -> None:
    assert folded("tensor(np.array([1.0]))") == "tensor(np.array([1.0]))"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_a_tensor_of_a_list_is_that_of_the_array(numbers: list[float]) -> None:
    text = folded(f"me.tensor(np.array({numbers!r}), dtype=float)")
    assert text.startswith("me.tensor([")
    given_list = eval(text, {"me": SimpleNamespace(tensor=np.asarray)})
    assert given_list.tobytes() == np.array(numbers).tobytes()
