"""Rules of steps that let tensors require grad, have hooks, and keep their gradients."""

from __future__ import annotations

import pytest

from refgrad.lifecycle import Fails, Open, Policy, Prediction, Succeeds
from refgrad.lifecycle.model import Model
from refgrad.lifecycle.state import HookState
from refgrad.scenario import Detach, Leaf, parse

X = "x = leaf float64[] {0x1.8p+0} requires_grad\n"
C = "c = leaf float64[] {0x1p+1}\n"
MAY_BE_CONSTANT = f"{X}l = mean x\nh = grad l x\n"
"""A gradient that some engines record and others do not."""


def after(text: str) -> tuple[Model, Prediction]:
    scenario = parse(text)
    model = Model(scenario, Policy())
    return model, [model.step(step) for step in scenario.steps][-1]


def test_a_constant_that_begins_to_require_grad_has_a_leaf_of_zeros_as_its_root() -> None:
    model, prediction = after(f"{C}require grad c")
    tensor = model.tensors["c"]
    assert prediction == Succeeds()
    assert tensor.node == tensor.root
    assert tensor.root in model.graph.leaves
    (root,) = [step for step in model.functional.steps if step.defines == tensor.root]
    assert isinstance(root, Leaf)
    assert (root.requires_grad, root.value.to_numpy().tolist()) == (True, 0.0)


def test_a_leaf_that_stops_and_starts_again_keeps_its_root() -> None:
    model, prediction = after(f"{X}stop requiring grad x\nrequire grad x")
    assert prediction == Succeeds()
    assert (model.tensors["x"].node, model.tensors["x"].root, model.graph.leaves) == ("x", "x", {"x"})


def test_what_requires_grad_already_does_so_on() -> None:
    model, prediction = after(f"{X}a = exp x\nrequire grad a")
    assert prediction == Succeeds()
    assert (model.tensors["a"].node, model.tensors["a"].root) == ("a", None)


def test_a_leaf_that_stops_is_a_constant_with_its_value_cut_off() -> None:
    model, prediction = after(f"{X}stop requiring grad x")
    tensor = model.tensors["x"]
    assert prediction == Succeeds()
    assert (tensor.node, tensor.is_leaf, tensor.root) == (None, True, "x")
    assert model.functional.steps[-1] == Detach(tensor.value, "x")
    assert after(f"{C}stop requiring grad c")[1] == Succeeds()


def test_a_computed_tensor_cannot_stop() -> None:
    model, prediction = after(f"{X}a = exp x\nstop requiring grad a")
    assert prediction == Fails("requires-grad-of-non-leaf")
    assert model.tensors["a"].node == "a"


def test_a_hook_stays_with_the_node_that_the_tensor_has_at_the_time() -> None:
    model, prediction = after(f"{X}{C}a = sin x\nhook h on a scale 0x1p+1\nwrite a add c")
    assert prediction == Succeeds()
    assert model.hooks == {"h": HookState("h", "a", "a", 2.0)}
    assert model.tensors["a"].node != "a"


@pytest.mark.parametrize(
    ("step", "kind"), [("hook h on c observe", "hook-on-constant"), ("retain grad c", "retain-grad-on-constant")]
)
def test_a_constant_has_neither_hooks_nor_a_gradient_to_keep(step: str, kind: str) -> None:
    model, prediction = after(C + step)
    assert isinstance(prediction, Fails)
    assert (prediction.kind, model.hooks, model.tensors["c"].retains) == (kind, {}, False)


def test_a_leaf_keeps_its_gradient_anyway() -> None:
    assert not after(f"{X}retain grad x")[0].tensors["x"].retains
    assert after(f"{X}a = exp x\nretain grad a")[0].tensors["a"].retains


@pytest.mark.parametrize("step", ["require grad h", "stop requiring grad h", "hook g on h observe", "retain grad h"])
def test_nothing_is_known_of_a_tensor_whose_flags_change_where_it_may_be_constant(step: str) -> None:
    model, prediction = after(MAY_BE_CONSTANT + step)
    assert prediction == Open()
    assert "h" in model.unknown
    assert all(hook.calls_unknown for hook in model.hooks.values())


def test_a_gradient_that_depends_on_a_gradient_which_may_be_constant_may_be_constant() -> None:
    scenario = (
        "x = leaf float64[] {0x1p+0} requires_grad\nz = leaf float64[] {0x1p+0} requires_grad\ns = add x z\n"
        "h = grad s x\np = multiply h s\nk = grad p z\nread requires_grad k\n"
    )
    assert after(scenario)[1] == Open()
