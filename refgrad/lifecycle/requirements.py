"""The features that an engine must have to be graded on a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from refgrad.interpreter import float64_values
from refgrad.lifecycle.model import predict
from refgrad.lifecycle.predictions import Fails, Gradient, Prediction
from refgrad.scenario import (
    Apply,
    Backward,
    Detach,
    EnterMode,
    Grad,
    Hook,
    Jvp,
    Read,
    RequireGrad,
    RetainGrad,
    Scenario,
    Step,
    StopRequiringGrad,
    Unhook,
    Write,
    ZeroGrad,
)

NEEDED_BY: Final[Mapping[type[Step], str]] = MappingProxyType({
    Detach: "detach",
    Grad: "double_backward",
    Hook: "hooks",
    Jvp: "forward_mode",
    RequireGrad: "set_requires_grad",
    RetainGrad: "retain_grad",
    StopRequiringGrad: "set_requires_grad",
    Unhook: "unhook",
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
    ancestors, through = dict[str, set[str]](), list[str]()
    for step, prediction in zip(scenario.steps, predictions, strict=True):
        if isinstance(step, Apply):
            ancestors[step.name] = {step.name}.union(*(ancestors.get(name, ()) for name in step.arguments))
        elif isinstance(step, Backward) and not isinstance(prediction, Fails):
            through += ancestors.get(step.output, ())
    return len(through) > len(set(through))


def _needed_by(step: Step) -> Iterator[str]:
    if type(step) in NEEDED_BY:
        yield NEEDED_BY[type(step)]
    match step:
        case Backward() | Grad() if step.seed is not None:
            yield "seed"
        case Write():
            yield "in_place" if step.index is None else "in_place_at_index"
        case EnterMode(mode=mode):
            yield mode
        case ZeroGrad():
            yield "zero_grad_to_zeros" if step.to_zeros else "zero_grad"
        case Read(what=what) if what in FLAGS:
            yield f"read_{what}"
    if isinstance(step, Backward) and step.retain_graph:
        yield "retain_graph"
