"""The features that an engine must have to be graded on a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from refgrad.interpreter import float64_values
from refgrad.lifecycle.model import predict
from refgrad.lifecycle.predictions import Fails, Gradient, Prediction
from refgrad.scenario import Scenario, Step, kinds
from refgrad.scenario.rewrite import inlined, needed

NEEDED_BY: Final[Mapping[type[Step], str]] = MappingProxyType({
    kinds.Detach: "detach",
    kinds.Grad: "double_backward",
    kinds.Hook: "hooks",
    kinds.Jvp: "forward_mode",
    kinds.RequireGrad: "set_requires_grad",
    kinds.RetainGrad: "retain_grad",
    kinds.StopRequiringGrad: "set_requires_grad",
    kinds.Unhook: "unhook",
})
"""Feature that each kind of step needs, whatever its fields are."""

FLAGS: Final = frozenset({"requires_grad", "is_leaf", "recorded"})


def required_features(scenario: Scenario) -> frozenset[str]:
    """Return the features that the scenario uses. An engine that lacks one is not graded on it."""
    predictions = predict(scenario)
    features = {f"error:{kind}" for p in predictions if isinstance(p, Fails) for kind in (p.kind, *p.others)}
    features.update(feature for step in scenario.steps for feature in _needed_by(step))
    if any(value.shape != () for value in float64_values(scenario).values()):
        features.add("arrays")
    if any(isinstance(p, Gradient) and len(p.contributions) > 1 for p in predictions):
        features.add("accumulate")
    if _visits_again(scenario, predictions):
        features.add("retain_graph")
    return frozenset(features)


def _visits_again(scenario: Scenario, predictions: Sequence[Prediction]) -> bool:
    """Return True if a backward that must not fail visits a result that an earlier one has visited."""
    passing = [at for at, prediction in enumerate(predictions) if not isinstance(prediction, Fails)]
    starts = [step.output for at, step in scenario.backwards if at in passing]
    applications = inlined(scenario).applications
    visited = [step.name for output in starts for step in needed(applications, {output})]
    return len(visited) > len(set(visited))


def _needed_by(step: Step) -> Iterator[str]:
    if type(step) in NEEDED_BY:
        yield NEEDED_BY[type(step)]
    match step:
        case kinds.Backward() | kinds.Grad() if step.seed is not None:
            yield "seed"
        case kinds.Write():
            yield "in_place" if step.index is None else "in_place_at_index"
        case kinds.EnterMode(mode=mode):
            yield mode
        case kinds.FunctionCall(ways=ways):
            yield from (f"call:{way}" for way in ways)
        case kinds.ZeroGrad():
            yield "zero_grad_to_zeros" if step.to_zeros else "zero_grad"
        case kinds.Read(what=what) if what in FLAGS:
            yield f"read_{what}"
    if isinstance(step, kinds.Backward) and step.retain_graph:
        yield "retain_graph"
    if isinstance(step, kinds.Backward | kinds.Grad) and step.forward:
        yield "mixed_modes"
