"""What a program looks at is the tensor itself, and stays what it is."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from refgrad.facts import Measured
from refgrad.native.statements import Call, Show
from refgrad.report.findings.python import _read, bare, measured

GRADIENT = "None if a.grad is None else as_numpy(a.grad)"


@pytest.mark.parametrize(
    ("shown", "looked_at"),
    [
        ("as_numpy(a.grad.detach().clone())", "a.grad"),
        ("None if a.grad is None else np.asarray(a.grad)", "a.grad"),
        ("getattr(a.grad, 'dtype', None)", "a.grad.dtype"),
        ("getattr(a, 'f')", "a.f"),
        ("getattr(a, 'f', a)", "getattr(a, 'f', a)"),
        ("getattr(a, 'f', 0.0)", "getattr(a, 'f', 0.0)"),
    ],
)
def test_an_expression_is_told_without_copies(shown: str, looked_at: str) -> None:
    assert ast.unparse(bare(ast.parse(shown, mode="eval").body)) == looked_at


@pytest.mark.parametrize(
    ("way", "known", "other"),
    [
        ("tensor", "a.grad", "as_numpy(a.grad)"),
        ("maybe", "a.grad", GRADIENT),
        ("shown", GRADIENT, GRADIENT),
        ("unmasked", "as_numpy(a.grad)", "as_numpy(a.grad)"),
        ("dtype", f"({GRADIENT}).dtype", f"np.asarray({GRADIENT}).dtype"),
    ],
)
def test_what_is_read_of_a_tensor_depends_on_what_is_known_of_the_library(way: str, known: str, other: str) -> None:
    show = Show("the gradient", Call(GRADIENT))
    read = [ast.unparse(_read(show, way, known=library)) for library in (True, False)]
    assert read == [known, other]


@pytest.mark.parametrize(
    ("quantity", "code", "program"),
    [
        ("tensor", ["held", "print(x())", "rest"], 'held\ngot = x()\nassert got is None, "the tensor is still held"\n'),
        (
            "memory",
            ["print(1)", "print(attempt())"],
            (
                "print(1)\ngraph, got = attempt()\n"
                'assert got * 4 <= graph, f"of the {graph} bytes of the graph, {got} are still held"\n'
            ),
        ),
        (
            "growth",
            ["tracemalloc.start()", "print(attempt(7))"],
            (
                "tracemalloc.start()\nn = 7\nreadings = attempt(n)\n"
                "got = min(after - before for before, after in zip(readings, readings[1:]))\n"
                'assert got <= 8 * n, f"each of {n} iterations leaves {got / n:.0f} bytes behind"\n'
            ),
        ),
        (
            "time",
            ["import a", "for n in (1, 2):", "    b()", "    print(n, attempt(n))"],
            (
                "import a\nseconds = {}\nfor n in (1, 2):\n    b()\n    seconds[n] = attempt(n)\n\n"
                "_, first, *_, last = seconds  # the first size also pays for what happens once\n"
                "got = seconds[last] / seconds[first]\n"
                'assert got < (last / first) ** 1.5, f"the time grows by a factor of {got:.0f} '
                'where the size grows by one of {last / first:.0f}"\n'
            ),
        ),
    ],
)
def test_a_measurement_ends_with_an_assertion(quantity: Any, code: list[str], program: str) -> None:
    assert measured(Measured(quantity=quantity), code) == program


@pytest.mark.parametrize("line", ["x = 1", "print(1); x"])
def test_a_program_that_prints_nothing_has_no_assertion(line: str) -> None:
    with pytest.raises(LookupError, match="prints nothing"):
        measured(Measured(quantity="tensor"), [line])
