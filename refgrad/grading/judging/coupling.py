"""Consistency of subgradients: gradients read at one moment must belong to one legal choice at the kinks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from refgrad.grading.judging.evidence import Numbers, Uncoupled
from refgrad.grading.judging.verdict import Finding
from refgrad.lifecycle import Gradient, Prediction
from refgrad.native.observation import Observation
from refgrad.native.program import relevant_leaves
from refgrad.oracles import CertifiedOracle, violation
from refgrad.scenario import Backward, Constant, Grad, Scenario, ZeroGrad

Contributions = tuple[tuple[str, Constant | None], ...]
Seen = tuple[int, Gradient, npt.NDArray[np.float64]]


def uncoupled(
    predictions: tuple[Prediction, ...], observations: tuple[Observation, ...], oracle: CertifiedOracle
) -> Finding | None:
    """Return the finding for inconsistent subgradients, which are legal one by one but not together, or None.

    Scenarios with recorded gradients, hooks or retained gradients are not checked.
    """
    scenario = oracle.given
    if any(isinstance(step, Grad) for step in scenario.steps):
        return None
    for moment in _moments(predictions, observations, scenario):
        if any(len(c) > 2 for _, prediction, _ in moment for c in prediction.contributions):  # noqa: PLR2004
            return None  # a contribution with hooks or retained gradients
        contributions, together = _together(moment, scenario)
        arrays = {prediction.leaf: array for _, prediction, array in together}
        truths = {leaf: oracle.narrowest_gradient(leaf, contributions) for leaf in arrays}
        found = violation(scenario, contributions, arrays, truths)
        if found is not None:
            fact = Uncoupled(
                gradients=tuple(Numbers.of(array, name) for name, array in arrays.items()),
                direction=tuple(Numbers.of(np.asarray(array), name) for name, array in found.direction.items()),
                rate=repr(float(found.rate)),
                lower=repr(float(found.lower)),
                upper=repr(float(found.upper)),
            )
            return Finding("wrong", fact, together[0][0])
    return None


def _moments(
    predictions: tuple[Prediction, ...], observations: tuple[Observation, ...], scenario: Scenario
) -> Iterator[list[Seen]]:
    """Yield the gradients that were read between two steps that change any gradient."""
    moment: list[Seen] = []
    for number, (step, prediction, seen) in enumerate(zip(scenario.steps, predictions, observations, strict=True), 1):
        if isinstance(step, Backward | ZeroGrad) and moment:
            yield moment
            moment = []
        if isinstance(prediction, Gradient) and seen.array is not None:
            moment.append((number, prediction, seen.array.astype(np.float64)))
    if moment:
        yield moment


def _together(moment: list[Seen], scenario: Scenario) -> tuple[Contributions, list[Seen]]:
    """Return the longest tuple of contributions, and the gradients that are the sums of those that reach their leaf."""
    every = (tuple((c[0], c[1]) for c in prediction.contributions) for _, prediction, _ in moment)
    longest = max(every, key=len)
    reached = {output: set(relevant_leaves(scenario, output)) for output, _ in longest}
    return longest, [
        seen for seen in moment if seen[1].contributions == tuple(c for c in longest if seen[1].leaf in reached[c[0]])
    ]
