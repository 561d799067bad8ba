"""Stretches of steps are taken out of lifecycles, and what is left is a scenario."""

import random

from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import lifecycle_scenario
from refgrad.generation.repair import Evaluated, evaluated
from refgrad.generation.simplifications import consistent, without_one_change
from refgrad.scenario import Scenario, Step, parse

X = "x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\n"


def simpler(text: str) -> list[str]:
    current = evaluated(parse(text))
    assert isinstance(current, Evaluated)
    return ["".join(f"{step.to_text()}\n" for step in steps) for steps in without_one_change(current)]


@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_what_is_left_of_a_lifecycle_is_a_scenario(seed: int, rng: random.Random) -> None:
    steps = lifecycle_scenario(seed).steps
    kept = [step for step in steps if rng.random() < 0.8]
    left = Scenario(tuple(consistent(kept))).steps
    assert all(any(step is other for other in kept) for step in left)
    assert consistent(left) == list(left)


def test_nothing_is_left_out_of_a_scenario() -> None:
    for seed in range(20):
        steps: list[Step] = list(lifecycle_scenario(seed).steps)
        assert consistent(steps) == steps


def test_a_step_goes_with_what_it_needs() -> None:
    steps = parse(f"{X}d = detach x\nhook h on d observe\ny = exp d\nread hook h\nread value x\n").steps
    left = consistent([step for step in steps if step.defines != "d"])
    assert [step.to_text() for step in left] == [X.strip(), "read value x"]


def test_regions_go_at_both_ends() -> None:
    steps = parse(f"{X}enter no_grad\ny = exp x\nleave\nread value y\n").steps
    for end in (steps[1], steps[3]):
        left = consistent([step for step in steps if step is not end])
        assert [step.to_text() for step in left] == [X.strip(), "y = exp x", "read value y"]


def test_the_source_of_a_detached_tensor_stands_wherever_the_detached_one_stood() -> None:
    text = f"{X}d = detach x\ny = multiply d x\nwrite y add d\nread value d\n"
    assert simpler(text) == [f"{X}y = multiply x x\nwrite y add x\nread value x\n"]
