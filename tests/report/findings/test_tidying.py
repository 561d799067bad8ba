"""A tidied program has what it uses and nothing else, and does what it did."""

from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.report import CHARACTERS
from refgrad.report.findings.tidying import tidied
from refgrad.report.findings.trees import pieces

SETUP = pieces("""\
import math
import os.path
import numpy as np
from fractions import Fraction, gcd

def unused(x):
    return used(x)

def twice(x):  # a helper
    return x + x
""")
PROGRAM = """\
a = np.array(1.0)  # the point
def program_b(a):
    b = np.exp(-a)
    return b
def program_c(a):
    return np.log(a)
print(twice(a), Fraction(1), grad(program_b), grad(program_c))
"""
TIDY = """\
from fractions import Fraction
import numpy as np

a = np.array(1.0)  # the point


def f(a):
    return np.exp(-a)


print(a + a, Fraction(1), grad(f), grad(np.log))
"""


def test_a_program_keeps_what_it_uses() -> None:
    assert tidied(SETUP, [*SETUP, *pieces(PROGRAM)]) == TIDY


def test_an_argument_is_not_computed_twice() -> None:
    text = "def twice(x):\n    return x + x\n\n\nprint(twice(next(numbers)))\n"
    helper, call = pieces(text)
    assert tidied([helper], [helper, call]) == text


def test_a_function_of_the_program_itself_stays() -> None:
    text = "x = 1\n\n\ndef f(y):\n    return y + x\n\n\nx = 2\nprint(f(3))\n"
    assert tidied([], pieces(text)) == text


@pytest.mark.parametrize("text", ["const x = 1;", "(" * 500, "x = 1\0", "x = 1\n" * CHARACTERS["program"]])
def test_what_is_no_program_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        pieces(text)


@given(st.lists(st.sampled_from([
    "import math", "x = 2", "y = x * 3", "x = y + 1  # more", "print(f(x))",
    "print(y if 1 == 1 else x)", "print(*[x, y])",
])))  # fmt: skip
def test_a_tidied_program_prints_what_it_printed(lines: list[str]) -> None:
    text = "\n".join(["def f(x):", "    z = -x", "    return z", "", "x, y = 5, 7", *lines]) + "\n"
    assert printed(tidied([], pieces(text))) == printed(text)


def printed(text: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as told:
        exec(text, {})
    return told.getvalue()


def test_an_import_stays_behind_what_it_needs() -> None:
    function = "def shown(x):\n    for y in [x]:\n        print(y)\n"
    program = f"import math\nmath.one = 1\n{function}from math import one\nshown(one)\n"
    lines = tidied([], pieces(program)).splitlines()
    assert lines.index("math.one = 1") < lines.index("from math import one") < lines.index("def shown(x):")


@pytest.mark.parametrize("count", [1, 2])
def test_the_only_pullback_of_each_function_has_a_short_name(count: int) -> None:
    names = [f"pullback_of_{letter}" for letter in "ab"[:count]]
    text = "".join(f"{name} = vjp(np.exp)\n" for name in names) + f"print({', '.join(names)})\n"
    assert tidied([], pieces(text)) == (text if count > 1 else text.replace(names[0], "pullback"))
