"""A reproduction is a program of the engine's own library that shows what was observed."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.examination import examine
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import observe, reproduce, start
from refgrad.native.languages import Python
from refgrad.report.findings import Script
from refgrad.scenario import Constant, parse
from tests.native.reference import ADAPTER
from tests.native.tiny_engine import tiny_adapter

TEXT = """
x = leaf float64[2] {0x1.8p+0 -0x1p+0} requires_grad
c = leaf float64[] {0x1p-1}
y = multiply x c
backward y seed float64[2] {0x1p+0 0x1p+1}
read grad x
read value y
"""


def printed(program: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, {})
    return out.getvalue()


def test_it_is_what_a_maintainer_would_paste() -> None:
    assert reproduce(parse(TEXT), start(tiny_adapter())) == (
        "import numpy as np\n"
        "from tests.native.tiny_tape import Tiny\n"
        "\n"
        "x = Tiny(np.array([1.5, -1.0]), requires_grad=True)\n"
        "c = Tiny(np.array(0.5), requires_grad=False)\n"
        "y = x * c\n"
        "y.backward(np.array([1.0, 2.0]))\n"
        "print(x.grad)  # gradient of x\n"
        "print(y.data)  # value of y\n"
    )


def test_it_prints_what_was_observed() -> None:
    engine = start(tiny_adapter())
    assert examine(parse(TEXT), engine).outcome == "passed"
    shown = [o.array for o in observe(parse(TEXT), engine) if o.array is not None]
    assert printed(reproduce(parse(TEXT), engine)) == "".join(f"{array}\n" for array in shown)


def test_functions_of_the_setup_are_shown_only_where_they_are_used() -> None:
    setup = (
        "from tests.native.tiny_tape import Tiny\n\n"
        "def inner(x):\n    return x\n\n"
        "def used(x, y):\n    return inner(x) * y\n\n"
        "def unused(x):\n    return x\n"
    )
    program = reproduce(parse(TEXT), start(tiny_adapter(setup=setup, operators={"multiply": "used({x}, {y})"})))
    assert "def used" in program
    assert "def inner" in program
    assert "unused" not in program


WRITES = """
import refgrad.engine as torch

def walk_and_write(output, seed, retain_graph):
    output.backward(seed, retain_graph=retain_graph)
    if seed is not None:
        seed.mul_(2)
"""


def test_a_seed_that_is_written_to_is_bound_to_a_name_and_printed() -> None:
    engine = start(replace(ADAPTER, setup=WRITES, backward="walk_and_write({output}, {seed}, {retain_graph})"))
    (check,) = [check for check in all_checks() if check.id == "contracts/seeds_stay_as_they_are"]
    verdict = Bench(engine).grade(check)
    assert verdict.verdict == "wrong"
    assert "wrote to a seed: seed 1 is entry (0, 0): 2.0, and was 1.0" in verdict.message
    program = Script("refgrad", "1", verdict, setup=WRITES).program
    assert "seed_1 = torch.tensor([[1.0], [-2.0]])\n" in program
    assert "walk_and_write(a, seed_1, False)\n" in program
    assert "got = np.asarray(seed_1)\n" in program
    assert examine(parse(verdict.scenario), engine).outcome == "passed"


arrays = st.one_of(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=4).map(np.array),
    st.lists(st.booleans(), min_size=1, max_size=4).map(np.array),
    st.floats().map(np.array),
    st.just(np.zeros((0, 3))),
    st.lists(st.floats(width=32), min_size=1, max_size=3).map(lambda v: np.array(v, dtype=np.float32)),
)


@settings(max_examples=100)
@given(arrays)
def test_array_literals_are_exact(array: Any) -> None:
    constant = Constant.of(array)
    rebuilt = eval(Python().array(constant), {"np": np})
    assert Constant.of(rebuilt) == constant


@pytest.mark.engines
@pytest.mark.parametrize("name", ["autograd", "mygrad", "micrograd", "torch", "refgrad"])
def test_reproductions_of_real_engines_run(name: str) -> None:
    if name != "refgrad":
        pytest.importorskip(name, reason=f"needs refgrad[{name}]", exc_type=ImportError)
    text = "x = leaf float64[] {0x1.8p+0} requires_grad\ny = multiply x x\nbackward y\nread grad x\n"
    program = reproduce(parse(text), start(find_adapter(name)))
    assert ("import refgrad" in program) == (name == "refgrad")
    assert "3." in printed(program)
