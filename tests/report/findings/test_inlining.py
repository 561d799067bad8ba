"""What a helper does stands in place of its call, and does the same."""

from __future__ import annotations

import ast

import pytest

from refgrad.report.findings.tidying import tidied
from refgrad.report.findings.trees import pieces
from tests.report.findings.test_tidying import printed

TOLD = """\
def told(x, more):
    if more is not None:
        print(more)
    print(x)

"""
PULLED = """\
def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: [seed * function(each) for each in primals]

"""
REFUSING = """\
def total(x, axis):
    if axis:
        raise NotImplementedError("axes")
    return sum(x)

"""
TRIED = """\
def tried(x):
    try:
        return x + 1
    except ValueError as error:
        if "lacks" in str(error):
            raise NotImplementedError(str(error)) from error
        raise

"""
KEPT = """\
import contextlib
def kept(x):
    with contextlib.nullcontext():
        return x + 1, x

"""


def is_helper(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import) or (isinstance(node, ast.FunctionDef) and not node.name.startswith("program_"))


def tidy(text: str) -> str:
    """Return a program whose functions are helpers."""
    program = pieces(text)
    setup = [each for each in program if is_helper(each.node)]
    return tidied(setup, [*setup, *(each for each in program if each not in setup)])


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (TOLD + "a = 3\ntold(a, None)\n", "a = 3\nprint(a)\n"),
        (TOLD + "a = 3\ntold(a, [1, 2])\n", None),
        (TOLD + "told(len('abc'), None)\n", "print(len('abc'))\n"),
        (REFUSING + "print(total([1, 2], None))\n", "print(sum([1, 2]))\n"),
        (
            PULLED
            + "a = 3\n\ndef program_b(a):\n    return a\n\nb, pull = vjp(program_b, [a])\n[c] = pull(5)\nprint(c)\n",
            "a = 3\n\n\ndef f(a):\n    return a\n\n\n[c] = [5 * f(each) for each in [a]]\nprint(c)\n",
        ),
        (
            "def made(x):\n    found = [x]\n    found.append(1)\n    return found\n\na = made(2)\nprint(a)\n",
            "a = [2]\na.append(1)\nprint(a)\n",
        ),
        (
            "def both(x):\n    more = None\n    return [x], [more]\n\na, b = both(2)\nprint(a, b)\n",
            "a = [2]\nb = [None]\nprint(a, b)\n",
        ),
        (
            KEPT + "a, b = kept(2)\nprint(a, b)\n",
            "import contextlib\n\nwith contextlib.nullcontext():\n    a = 2 + 1\n    b = 2\nprint(a, b)\n",
        ),
        (
            "def go(x, **more):\n    print(x, **more)\n    print('on')\n\ngo(1)\n",
            "print(1)\nprint('on')\n",
        ),
        ("def some(x, *rest):\n    return [x, *rest]\n\n\nprint(some(1))\n", None),
        ("def scaled(x, *, by=2):\n    return x * by\n\n\nprint(scaled(1))\n", None),
        ("def scaled(x, by=2):\n    return x * by\n\n\nprint(scaled(1))\n", None),
        (
            TRIED + "print(tried(2))\n",
            "print(2 + 1)\n",
        ),
        (
            "def named(x):\n    y = [x]\n    print(y)\n\n\ny = 5\nnamed(1)\nnamed(2)\nprint(y)\n",
            "y = 5\ny_2 = [1]\nprint(y_2)\ny_3 = [2]\nprint(y_3)\nprint(y)\n",
        ),
        (
            (
                "def lone(x):\n    return one(*x) if len(x) == 1 else several(x)\n\n\n"
                "def one(x):\n    y = str(x)\n    return y, lambda z: [y * z]\n\n\n"
                "def several(x):\n    y = list(map(str, x))\n    return y, lambda z: [each * z for each in y]\n\n\n"
                "a, b = lone([1])\n[c] = b(3)\nprint(a, c)\n"
            ),
            "a = str(1)\nc = a * 3\nprint(a, c)\n",
        ),
        (
            (
                "def pulled(f, x):\n    pull, y = f, [x]\n    return y, lambda z: [pull(z)]\n\n\n"
                "a, pull = pulled(str, 1)\nprint(a, pull(2), pull(3))\n"
            ),
            "pull_2, a = (str, [1])\npull = lambda z: [pull_2(z)]\nprint(a, pull(2), pull(3))\n",
        ),
    ],
)
def test_a_helper_is_put_in_place_of_its_call(program: str, told: str | None) -> None:
    assert printed(tidy(program)) == printed(program)
    assert told is None or tidy(program) == told


@pytest.mark.parametrize(
    "program",
    [
        "def twice(x):\n    print(x)\n    print(x)\n\n\ntwice(next(iter([1, 2])))\n",
        "def inner(f):\n    x = list(map(lambda a: f + a, [1]))\n    print(x)\n\n\na = 1\ninner(a)\n",
        "def early(x):\n    for y in x:\n        return y\n\n\nprint(early([1]))\n",
        "def given(x=1):\n    print(x)\n    print(x)\n\n\ngiven()\n",
        "pick = lambda x: x\nprint(pick(1), pick(2))\n",
    ],
)
def test_what_would_become_something_else_stays(program: str) -> None:
    assert tidy(program) == program
