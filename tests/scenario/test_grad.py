"""The recorded gradients that a scenario can have."""

import pytest

from refgrad.scenario import Constant, Grad, Scenario, ScenarioError, parse

LEAVES = "x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\nc = leaf float64[2] {0x1p+0 0x1p+1}\n"


def test_a_recorded_gradient_is_written_as_it_is_read() -> None:
    line = "h = grad x x seed float64[2] {0x1p+0 -0x1p+0}"
    scenario = parse(f"{LEAVES}{line}\ng = grad h x\n")
    assert scenario.text.splitlines()[2:] == [line, "g = grad h x"]
    assert Scenario.from_json(scenario.to_json()) == scenario


def test_a_recorded_gradient_defines_a_name_that_later_steps_may_use() -> None:
    scenario = parse(f"{LEAVES}a = exp x\nh = grad a x\nb = multiply h h\nbackward b\nread value h\n")
    assert scenario.gradients == (Grad("h", "a", "x"),)
    assert scenario.definitions["h"] == Grad("h", "a", "x")
    assert list(scenario.definitions) == ["x", "c", "a", "h", "b"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("h = grad y x", "'y' is not defined by an earlier step"),
        ("h = grad x y", "'y' is not defined by an earlier step"),
        ("h = grad x c", "'c' is not a leaf that requires grad"),
        ("x = grad x x", "'x' is already defined"),
        ("h = grad x", "the line ends where the leaf's name should be"),
        ("h = grad x x retain_graph", "'retain_graph' follows what should be the end of the line"),
    ],
)
def test_a_recorded_gradient_needs_an_output_and_a_leaf_that_requires_grad(line: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        parse(f"{LEAVES}{line}")


def test_a_seed_is_a_constant() -> None:
    with pytest.raises(ScenarioError, match="seed"):
        Grad("h", "x", "x", seed=1.0)  # type: ignore[arg-type]
    assert Grad("h", "x", "x", Constant("float64", (), b"\0" * 8)).seed is not None
