"""A float64 leaf's gradient has float64's digits where all that it is made of has, whatever other leaves are of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from refgrad.facts import Entry
from refgrad.grading.judging.examination import examine, shows_float32
from refgrad.native.engine import start
from refgrad.native.observation import Observation
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


NARROW = replace(
    ADAPTER,
    setup=ADAPTER.setup + "\nimport numpy as np\ndef narrow(x):\n    return np.asarray(x, dtype=np.float32)\n",
    leaf="torch.tensor(narrow({array}), requires_grad={requires_grad})",
    seed="torch.tensor(narrow({array}))",
    value="{x}.detach().numpy().astype(np.float64)",
    gradient="None if {leaf}.grad is None else {leaf}.grad.detach().numpy().astype(np.float64)",
)
"""Declares float64, and computes in float32."""

CANCELS = f"""\
x = leaf {Constant.of(np.array(1 / 3)).to_text()} requires_grad
y = leaf {Constant.of(np.array(1 / 7)).to_text()}
z = leaf {Constant.of(np.array(1 / 7 + 1e-7)).to_text()}
a = multiply x y
b = multiply x z
c = subtract a b
backward c
read value a
read grad x
"""


def test_digits_that_an_engine_of_float32_lost_are_inaccurate() -> None:
    found = examine(parse(CANCELS), start(NARROW))
    assert isinstance(found.fact, Entry)
    assert (found.outcome, found.fact.qualifier) == ("inaccurate", "float32")
    assert examine(parse(CANCELS), start(ADAPTER)).outcome == "passed"


@pytest.mark.parametrize(
    "gradient",
    ["narrow({leaf}.grad.detach().numpy() + 1e-3).astype(float)", "{leaf}.grad.detach().numpy() - 2.0**-30"],
    ids=["more than float32 loses", "a number that is none of float32"],
)
def test_what_float32_does_not_explain_is_wrong(gradient: str) -> None:
    assert examine(parse(CANCELS), start(replace(NARROW, gradient=gradient))).outcome == "wrong"


def test_a_zero_for_a_small_gradient_is_wrong_in_an_engine_of_float64() -> None:
    lost = replace(ADAPTER, gradient="{leaf}.grad.detach().numpy() * 0")
    assert examine(parse(CANCELS), start(lost)).outcome == "wrong"
    assert examine(parse(CANCELS.replace("read value a\n", "")), start(lost)).outcome == "wrong"


@pytest.mark.parametrize(
    ("numbers", "are"),
    [
        ([float(np.float32(1 / 3)), 0.5], True),
        ([0.0, 1.0, -2.5, 1000.0 * 999.0], False),
        ([float(np.float32(1 / 3)), 1 / 3], False),
        ([np.nan, np.inf], False),
        ([], False),
    ],
)
def test_numbers_are_told_as_those_of_float32_by_their_digits(numbers: list[float], *, are: bool) -> None:
    assert shows_float32([Observation(np.array(numbers, dtype=np.float64), dtype="float64")]) is are
