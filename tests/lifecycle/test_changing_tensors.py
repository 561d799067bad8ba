"""The predictions of the lifecycle model for tensors that change: what PyTorch promises of them."""

from __future__ import annotations

import pytest

from refgrad.lifecycle import ExpectedFlag, Fails, Gradient, NoGradient, Open, Policy, Seen, Succeeds, lower, predict
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Apply, Detach, Grad, Leaf, parse

X = "x = leaf float64[] {0x1.8p+0} requires_grad\n"
C = "c = leaf float64[] {0x1p+1}\n"
V = "v = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\n"
SCALED = f"{X}y = multiply x x\nhook h on y scale 0x1p+1\nz = exp y\nl = negative z\n"


def last(text: str, policy: Policy | None = None) -> object:
    return predict(parse(text), policy)[-1]


def flag(text: str) -> bool:
    prediction = last(text)
    assert isinstance(prediction, ExpectedFlag)
    return prediction.holds


def test_what_changes_no_tensor_is_its_own_lowered_scenario() -> None:
    scenario = parse(f"{X}y = exp x\nbackward y\nread grad x")
    assert lower(scenario).scenario is scenario


def test_a_lowered_scenario_has_only_steps_that_oracles_understand() -> None:
    text = (
        f"{X}{C}y = exp x\nenter no_grad\nwrite y add c\nleave by error\nrequire grad c\nz = multiply y c\nbackward z"
    )
    assert all(isinstance(step, Leaf | Apply | Grad | Detach) for step in lower(parse(text)).scenario.steps)


def test_nothing_is_recorded_in_a_region_without_gradients() -> None:
    assert not flag(f"{X}enter no_grad\ny = exp x\nleave\nread requires_grad y")
    assert flag(f"{X}enter no_grad\nenter enable_grad\ny = exp x\nleave\nleave\nread requires_grad y")
    assert last(f"{X}enter no_grad\ny = exp x\nleave\nbackward y") == Fails("no-graph")


@pytest.mark.parametrize("leave", ["leave", "leave by error"])
def test_recording_goes_on_once_the_region_is_left(leave: str) -> None:
    assert flag(f"{X}enter no_grad\n{leave}\ny = exp x\nread recorded y")


def test_a_created_tensor_is_a_leaf_and_a_recorded_result_is_not() -> None:
    assert flag(f"{X}read is_leaf x")
    assert flag(f"{C}y = exp c\nread is_leaf y")
    assert not flag(f"{X}y = exp x\nread is_leaf y")
    assert flag(f"{X}y = exp x\nd = detach y\nread is_leaf d")


def test_a_leaf_that_does_not_require_grad_at_the_moment_receives_nothing() -> None:
    assert last(f"{X}y = negative x\nstop requiring grad x\nbackward y\nread grad x") == NoGradient("x")
    again = f"{X}y = negative x\nstop requiring grad x\nbackward y\nrequire grad x\nbackward y\nread grad x"
    assert last(again) == Gradient("x", (("y", None),))


def test_a_computed_tensor_cannot_become_a_constant() -> None:
    assert last(f"{X}y = exp x\nstop requiring grad y") == Fails("requires-grad-of-non-leaf")


def test_a_saved_value_that_was_overwritten_is_an_error() -> None:
    assert last(f"{X}{C}y = exp x\nwrite y add c\nbackward y") == Fails("modified-in-place")
    assert last(f"{X}{C}y = sin x\nwrite y add c\nbackward y") == Succeeds()
    assert last(f"{X}{C}y = exp x\nd = detach y\nwrite d add c\nbackward y") == Fails("modified-in-place")
    assert last(f"{X}y = sin x\nwrite y multiply y\nbackward y") == Fails("modified-in-place")


def test_a_recorded_write_to_a_leaf_is_an_error_and_one_without_recording_is_not() -> None:
    assert last(f"{X}{C}write x add c") == Fails("leaf-in-place")
    assert last(f"{X}{C}enter no_grad\nwrite x add c\nleave\ny = sin x\nbackward y") == Succeeds()


def test_a_write_that_does_not_fit_is_an_error() -> None:
    assert last(f"{V}c = leaf float64[] {{0x1p+0}}\nwrite c add v") == Fails("write-shape")


def test_nothing_is_promised_of_graphs_whose_leaf_was_overwritten_by_something_computed() -> None:
    built, moved = f"{X}a = exp x\nb = exp a\n", "stop requiring grad x\nwrite x copy a\nbackward b"
    assert last(f"{built}{moved}") == Open()
    assert last(f"{built}backward a\n{moved}") == Open()


def test_nothing_is_promised_of_a_write_where_engines_differ_in_what_is_a_view() -> None:
    assert last("c = leaf float64[1] {0x1p+0}\ny = reshape c shape=(1,)\nwrite y add c\nread value c") == Open()


def test_an_unrecorded_view_is_a_constant_unless_the_policy_leaves_it_open() -> None:
    view = f"{V}enter no_grad\ny = reshape v shape=(2,)\nleave\nread requires_grad y"
    assert last(view) == ExpectedFlag(holds=False)
    assert last(view, Policy(unrecorded_views="open")) == Open()


def test_hooks_and_kept_gradients_need_something_that_requires_grad() -> None:
    assert last(f"{C}hook h on c observe") == Fails("hook-on-constant")
    assert last(f"{C}retain grad c") == Fails("retain-grad-on-constant")


def test_a_hook_sees_what_hooks_before_it_leave_and_every_backward_once() -> None:
    first = ("l", None, (), "y")
    second = ("l", None, (("y", 2.0),), "y")
    text = f"{SCALED}hook g on y observe\nbackward l retain_graph\nunhook h\nbackward l\n"
    assert last(f"{text}read hook h") == Seen("h", "y", (first,))
    assert last(f"{text}read hook g") == Seen("g", "y", (second, first))


def test_zeroing_to_zeros_leaves_zeros_only_where_there_was_a_gradient() -> None:
    assert last(f"{X}zero grad x to zeros\nread grad x") == NoGradient("x")
    assert last(f"{X}backward x\nzero grad x to zeros\nread grad x") == Gradient("x", ())


def test_what_a_hook_multiplies_reaches_the_leaves_and_the_gradient_that_is_kept() -> None:
    scenario = parse(f"{SCALED}retain grad y\nbackward l\nread grad x\nread grad y")
    lowered = lower(scenario)
    oracle = CertifiedOracle(lowered.scenario)
    for prediction, factor in zip(lowered.predictions[-2:], (2 * 1.5, 1.0), strict=True):
        assert isinstance(prediction, Gradient)
        gradient = oracle.gradient(prediction.leaf, prediction.contributions)
        assert float(gradient.midpoint) == pytest.approx(-2.0 * factor * 9.487735836358526, rel=1e-15)


def test_a_value_written_outside_of_its_graph_keeps_its_derivative() -> None:
    lowered = lower(parse(f"{X}{C}enter no_grad\nwrite x copy c\nleave\ny = multiply x x\nbackward y\nread grad x"))
    prediction = lowered.predictions[-1]
    assert isinstance(prediction, Gradient)
    gradient = CertifiedOracle(lowered.scenario).gradient(prediction.leaf, prediction.contributions)
    assert float(gradient.midpoint) == 4.0


@pytest.mark.parametrize("step", ["zero grad x", "delete y", "retain grad y", "d = detach y"])
def test_a_step_that_only_changes_what_is_kept_succeeds(step: str) -> None:
    assert last(f"{X}y = exp x\n{step}") == Succeeds()
