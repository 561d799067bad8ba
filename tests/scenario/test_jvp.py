"""The directional derivatives that a scenario can have."""

import numpy as np
import pytest

from refgrad.scenario import Constant, Jvp, Scenario, ScenarioError, parse
from refgrad.scenario.rewrite import floating_dtypes
from tests.effort import each

LEAVES = """x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad
z = leaf float32[] {0x1p+0} requires_grad
c = leaf float64[2] {0x1p+0 0x1p+1}
y = multiply x z
"""
LINE = "t = jvp y x float64[2] {0x1p+0 -0x1p+0} z float32[] {0x1p+1}"


def test_a_directional_derivative_is_written_as_it_is_read() -> None:
    scenario = parse(f"{LEAVES}{LINE}\nread value t\n")
    assert scenario.text.splitlines()[4:] == [LINE, "read value t"]
    assert Scenario.from_json(scenario.to_json()) == scenario


def test_a_directional_derivative_defines_a_name_that_later_steps_may_use() -> None:
    scenario = parse(f"{LEAVES}{LINE}\nb = multiply t t\nbackward b\n")
    directions = (("x", Constant.of(np.array([1.0, -1.0]))), ("z", Constant.of(np.array(2.0, np.float32))))
    assert scenario.jvps == (Jvp("t", "y", directions),)
    assert scenario.definitions["t"].uses == ("y", "x", "z")
    assert scenario.jvps[0].leaves == ("x", "z")


def test_a_directional_derivative_is_of_the_dtype_of_its_output() -> None:
    dtypes = floating_dtypes(parse(f"{LEAVES}{LINE}\na = exp x\ns = jvp a x float64[2] {{1 1}}\n"))
    assert dtypes["t"] == {"float32", "float64"}
    assert dtypes["s"] == {"float64"}


@each(
    ("line", "problem"),
    [
        ("t = jvp w x float64[2] {1 1}", "'w' is not defined by an earlier step"),
        ("t = jvp y w float64[2] {1 1}", "'w' is not defined by an earlier step"),
        ("t = jvp y c float64[2] {1 1}", "'c' is not a leaf that requires grad"),
        ("t = jvp y y float64[2] {1 1}", "'y' is not a leaf that requires grad"),
        ("t = jvp y x float64[3] {1 1 1}", r"the tangent of 'x' is float64\[3\], but it should be float64\[2\]"),
        ("t = jvp y x float32[2] {1 1}", r"the tangent of 'x' is float32\[2\], but it should be float64\[2\]"),
        ("t = jvp y x float64[2] {1 1} x float64[2] {1 1}", "'x' has two tangents"),
        ("x = jvp y x float64[2] {1 1}", "'x' is already defined"),
        ("t = jvp y", "the line ends where a leaf's name should be"),
        ("t = jvp y x", "the line ends where a dtype should be"),
        ("t = jvp y x float64[2] {1 1} retain_graph", "the line ends where a dtype should be"),
    ],
)
def test_a_directional_derivative_needs_an_output_and_tangents_of_leaves_that_require_grad(
    line: str, problem: str
) -> None:
    with pytest.raises(ScenarioError, match=problem):
        parse(f"{LEAVES}{line}")


def test_a_tangent_is_a_constant_and_there_is_at_least_one() -> None:
    with pytest.raises(ScenarioError, match="tangent"):
        Jvp("t", "y", (("x", 1.0),))  # type: ignore[arg-type]
    with pytest.raises(ScenarioError, match="at least one leaf"):
        Scenario((*parse(LEAVES).steps, Jvp("t", "y", ())))
