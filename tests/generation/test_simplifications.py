"""Stretches of steps are taken out of lifecycles, and what is left is a scenario."""

import random
from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from refgrad.generation import lifecycle_scenario
from refgrad.generation.repair import Evaluated, evaluated
from refgrad.generation.simplifications import SIMPLIFICATIONS, Simplification, consistent, without_one_change
from refgrad.scenario import Scenario, Step, parse
from tests.snapshots.placement import PlainText

X = "x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\n"


def simpler(text: str, *simplifications: Simplification) -> list[str]:
    current = evaluated(parse(text))
    assert isinstance(current, Evaluated)
    candidates = (steps for simplify in simplifications for steps in simplify(current))
    return ["".join(f"{step.to_text()}\n" for step in steps) for steps in candidates]


def test_the_simplifications_of_a_scenario_are_these_in_this_order(snapshot: SnapshotAssertion) -> None:
    text = """w = leaf float64[] {0x1.8p+0} requires_grad
x = leaf float32[2,3] {1 2 3 4 5 6} requires_grad
c = leaf float32[3] {1 1 1}
y = multiply x c
z = sum y axis=(1,) keepdims=true
v = multiply z w
d = detach v
hook h on v scale 0x1p+1
enter no_grad
write d add z
leave
g = grad v x seed float64[2,1] {0x1p+1 0x1p+0}
j = jvp v w float64[] {0x1p+0} x float32[2,3] {1 0 0 0 0 0}
backward v seed float64[2,1] {0x1p+1 0x1p+0} retain_graph
backward v seed float64[2,1] {0x1p+1 0x1p+0}
zero grad x
read grad w
read hook h
read value j
"""
    lines = [step.to_text() for step in parse(text).steps]
    differences = (unified_diff(lines, each.splitlines(), n=0, lineterm="") for each in simpler(text, *SIMPLIFICATIONS))
    changes = ["; ".join(line for line in each if line[:2] not in {"--", "++", "@@"}) for each in differences]
    assert "\n".join(changes) == snapshot.use_extension(PlainText)


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
    assert simpler(text, without_one_change) == [f"{X}y = multiply x x\nwrite y add x\nread value x\n"]


def test_a_scenario_whose_result_is_not_finite_is_not_evaluated() -> None:
    assert evaluated(parse("x = leaf float64[] {700}\ny = exp x")) is not None
    assert evaluated(parse("x = leaf float64[] {710}\ny = exp x")) is None
