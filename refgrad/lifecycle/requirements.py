"""Which features must an engine have for a scenario to make sense to it?"""

from __future__ import annotations

from refgrad.interpreter import Float64, evaluate
from refgrad.lifecycle.model import Fails, Gradient, predict
from refgrad.scenario import Backward, Scenario, ZeroGrad

FEATURES: dict[str, str] = {}


def required_features(scenario: Scenario) -> frozenset[str]:
    """Return the features that the scenario uses; an engine that lacks one is not graded on it."""
    predictions = predict(scenario)
    features = {f"error:{p.kind}" for p in predictions if isinstance(p, Fails)}
    backwards = [step for step in scenario.steps if isinstance(step, Backward)]
    if any(value.shape != () for value in evaluate(scenario, Float64()).values()):
        features.add("arrays")
    if scenario.gradients:
        features.add("double_backward")
    if any(seed is not None for seed in [step.seed for step in backwards] + [step.seed for step in scenario.gradients]):
        features.add("seed")
    if any(step.retain_graph for step in backwards):
        features.add("retain_graph")
    if any(isinstance(step, ZeroGrad) for step in scenario.steps):
        features.add("zero_grad")
    if any(isinstance(p, Gradient) and len(p.contributions) > 1 for p in predictions):
        features.add("accumulate")
    return frozenset(features)
