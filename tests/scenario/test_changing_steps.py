"""The steps that change a tensor or what is recorded of it, and how they are written."""

import pytest

from refgrad.scenario import Hook, Scenario, ScenarioError, Write, ZeroGrad, parse
from tests.effort import each

LEAVES = "x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\nc = leaf float64[2] {0x1p+0 0x1p+1}\n"
HOOKED = f"{LEAVES}hook h on x observe\n"


@each(
    "line",
    [
        "d = detach x",
        "require grad c",
        "stop requiring grad x",
        "delete c",
        "write c add x",
        "write c multiply c",
        "write c copy x index=(0, 1:)",
        "hook h on x observe",
        "hook h on x scale -0x1p-1",
        "retain grad x",
        "zero grad x",
        "zero grad x to zeros",
        "read requires_grad x",
        "read is_leaf x",
        "read recorded x",
    ],
)
def test_a_step_is_written_as_it_is_read(line: str) -> None:
    scenario = parse(f"{LEAVES}{line}\n")
    assert scenario.text.splitlines()[2:] == [line]
    assert Scenario.from_json(scenario.to_json()) == scenario


def test_regions_are_written_as_they_are_read() -> None:
    lines = ["enter no_grad", "enter enable_grad", "leave by error", "leave"]
    scenario = parse("\n".join(lines))
    assert scenario.text.splitlines() == lines
    assert Scenario.from_json(scenario.to_json()) == scenario


def test_what_a_hook_saw_can_be_read_before_and_after_it_is_taken_away() -> None:
    lines = ["read hook h", "unhook h", "unhook h", "read hook h"]
    scenario = parse(HOOKED + "\n".join(lines))
    assert scenario.text.splitlines()[3:] == lines
    assert Scenario.from_json(scenario.to_json()) == scenario


@each(
    ("text", "problem"),
    [
        ("enter no_grad", "a region is entered that is never left"),
        ("leave", "there is no region to leave"),
        ("enter with_grad\nleave", "'with_grad' is no mode: write no_grad or enable_grad"),
        ("enter no_grad\nleave by mistake", "'mistake' stands where 'error' should be"),
        (f"{LEAVES}delete c\nread value c", "'c' was deleted by an earlier step"),
        (f"{LEAVES}delete c\nc = leaf float64[] {{0x1p+0}}", "'c' is already defined"),
        (f"{LEAVES}stop requiring grad x\nh = grad x x", "'x' is not a leaf that requires grad"),
        (f"{LEAVES}write c divide x", "'divide' is no action: write add, multiply or copy"),
        (f"{LEAVES}write c copy c", "'c' cannot be copied onto itself"),
        (f"{LEAVES}write c add x index=(::-1,)", "a tuple of integers and forward slices"),
        (f"{LEAVES}hook h on x double", "'double' stands where 'scale' or 'observe' should be"),
        (f"{LEAVES}hook h on x scale inf", "a factor must be finite, not inf"),
        (f"{LEAVES}hook x on c observe", "'x' is already defined"),
        (f"{LEAVES}unhook x", "'x' is not a hook"),
        (f"{HOOKED}read value h", "'h' is not defined by an earlier step"),
        (f"{HOOKED}h = exp x", "'h' is already defined"),
        (f"{LEAVES}zero grad x to ones", "'ones' stands where 'zeros' should be"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        parse(text)


def test_a_tensor_that_came_to_require_grad_has_gradients_that_can_be_recorded() -> None:
    assert parse(f"{LEAVES}require grad c\nh = grad c c seed float64[2] {{0x1p+0 0x1p+0}}\n").gradients


def test_zeroing_without_zeros_is_written_in_json_as_it_always_was() -> None:
    assert ZeroGrad("x").to_json() == {"name": "x"}
    assert ZeroGrad("x", to_zeros=True).to_json() == {"name": "x", "to_zeros": True}


def test_steps_of_wrong_parts_are_refused() -> None:
    with pytest.raises(ScenarioError, match="factor"):
        Hook("h", "x", 2)
    with pytest.raises(ScenarioError, match="index"):
        Write("x", "add", "c", (True,))
