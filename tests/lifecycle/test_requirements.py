"""The features that a scenario needs of an engine."""

from __future__ import annotations

from itertools import cycle, islice

from hypothesis import given
from hypothesis import strategies as st

from refgrad.lifecycle import Fails, predict, required_features
from refgrad.lifecycle.requirements import NEEDED_BY
from refgrad.scenario import Backward, Grad, Scenario, parse
from refgrad.scenario.rewrite import in_modes
from refgrad.strategies import lifecycles
from tests.effort import each

X = "x = leaf float64[] {0x1.8p+0} requires_grad\n"
V = "v = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\n"
C = "c = leaf float64[] {0x1p+1}\n"
SQUARE = f"{X}l = multiply x x\nh = grad l x\n"


@each(
    ("text", "features"),
    [
        (f"{X}backward x", set()),
        (f"{V}s = sum v\nbackward s", {"arrays"}),
        (f"{X}backward x seed float64[] {{0x1p+1}}", {"seed"}),
        (f"{X}backward x retain_graph\nbackward x\nread grad x", {"retain_graph", "accumulate"}),
        (f"{X}backward x\nzero grad x", {"zero_grad"}),
        (f"{X}a = exp x\nbackward a\nbackward a", {"error:freed-graph"}),
        (f"{X}a = negative x\nbackward a\nbackward a", {"retain_graph"}),
        (f"{X}a = negative x\nb = negative a\nbackward b\nbackward a", {"retain_graph"}),
        (f"{X}a = negative x\nb = negative x\nbackward a\nbackward b", set()),
        (f"{C}backward c", {"error:no-graph"}),
        (f"{C}backward c seed float64[1] {{0x1p+0}}", {"seed", "error:no-graph", "error:seed-shape"}),
        (f"{X}enter no_grad\nwrite x add x\nleave", {"no_grad", "in_place"}),
        (f"{V}{C}enter no_grad\nwrite v copy c index=(0,)\nleave", {"no_grad", "in_place_at_index", "arrays"}),
        (f"{X}backward x\nzero grad x to zeros", {"zero_grad_to_zeros"}),
        (f"{X}read is_leaf x\nread recorded x", {"read_is_leaf", "read_recorded"}),
        (f"{X}read value x", set()),
    ],
)
def test_a_scenario_needs_the_features_that_it_uses(text: str, features: set[str]) -> None:
    assert required_features(parse(text)) == features


def test_a_recorded_gradient_needs_an_engine_that_differentiates_twice() -> None:
    assert required_features(parse(f"{SQUARE}backward h")) == {"double_backward"}
    seeded = parse(f"{V}l = multiply v v\nh = grad l v seed float64[2] {{0x1p+0 0x1p+0}}")
    assert required_features(seeded) == {"double_backward", "seed", "arrays"}


@given(lifecycles(), st.lists(st.booleans(), min_size=1, max_size=3))
def test_the_mode_of_a_gradient_changes_what_is_needed_and_nothing_that_is_shown(
    scenario: Scenario, forward: list[bool]
) -> None:
    pushed = in_modes(scenario, forward)
    modes = [step.forward for step in pushed.steps if isinstance(step, Backward | Grad)]
    assert modes == list(islice(cycle(forward), len(modes)))
    assert in_modes(pushed, [False]) == scenario
    assert parse(pushed.text) == pushed == Scenario.from_json(pushed.to_json())
    assert predict(pushed) == predict(scenario)
    assert required_features(pushed) == required_features(scenario) | ({"mixed_modes"} if any(modes) else set())


@given(lifecycles())
def test_a_feature_is_needed_if_and_only_if_something_asks_for_it(scenario: Scenario) -> None:
    features = required_features(scenario)
    kinds = {type(step) for step in scenario.steps}
    for feature in NEEDED_BY.values():
        assert (feature in features) == any(NEEDED_BY.get(kind) == feature for kind in kinds)
    expected = {kind for p in predict(scenario) if isinstance(p, Fails) for kind in (p.kind, *p.others)}
    assert {feature for feature in features if feature.startswith("error:")} == {f"error:{kind}" for kind in expected}
