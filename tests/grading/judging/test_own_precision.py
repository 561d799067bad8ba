"""A float64 leaf's gradient has float64's digits where all that it is made of has, whatever other leaves are of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from refgrad.grading.judging.examination import examine
from refgrad.native.engine import start
from refgrad.scenario import Constant, parse
from tests.native.reference import ADAPTER

ROUNDED = replace(
    ADAPTER,
    setup=ADAPTER.setup + "\nimport numpy as np\n",
    gradient="None if {leaf}.grad is None else "
    "{leaf}.grad.detach().numpy().astype(np.float32).astype({leaf}.detach().numpy().dtype)",
)
SEED = Constant.of(np.array([1 / 3, 1 / 7])).to_text()
LEAVES = "x = leaf float64[2] {0x1p+0 0x1.8p+0} requires_grad\ny = leaf float32[2] {0x1p+0 0x1.8p+0} requires_grad\n"
BACKWARD = f"backward a seed {SEED}\nread grad x\nread grad y\n"


@pytest.mark.parametrize(
    ("steps", "outcome"),
    [
        ("a = multiply x y\n", "inaccurate"),
        ("b = exp x\na = multiply b y\n", "inaccurate"),
        ("b = exp y\na = multiply x b\n", "passed"),
    ],
)
def test_digits_of_float32_are_enough_only_where_something_was_rounded_to_it(steps: str, outcome: str) -> None:
    scenario = parse(f"{LEAVES}{steps}{BACKWARD}")
    assert examine(scenario, start(ROUNDED)).outcome == outcome
    assert examine(scenario, start(ADAPTER)).outcome == "passed"


def test_a_scalar_of_float64_need_not_widen_an_array() -> None:
    text = "x = leaf float64[] {0x1p+0} requires_grad\ny = leaf float32[2] {0x1p+0 0x1.8p+0}\na = multiply x y\n"
    assert examine(parse(f"{text}backward a seed {SEED}\nread grad x\n"), start(ROUNDED)).outcome == "passed"


def test_a_gradient_that_an_engine_rounds_to_a_coarser_dtype_by_design_is_a_convention() -> None:
    rounding = replace(ROUNDED, coarser={"exp": "float32"})
    scenario = parse(
        f"x = leaf float64[2] {{0x1p+0 0x1.8p+0}} requires_grad\na = exp x\nbackward a seed {SEED}\nread grad x\n"
    )
    assert examine(scenario, start(ROUNDED)).outcome == "inaccurate"
    assert examine(scenario, start(rounding)).outcome == "convention"
