"""Does weighting and summing an output give the gradients that a seed gives?"""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from refgrad.generation import random_scenario
from refgrad.grading.checks.isolation.seedless import without_seeds
from refgrad.lifecycle import Gradient, predict
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Backward


@settings(max_examples=50)
@given(st.integers(0, 2**32))
def test_weights_replace_seeds(seed: int) -> None:
    scenario = random_scenario(seed)
    weighted = without_seeds(scenario)
    assert not any(isinstance(step, Backward) and step.seed is not None for step in weighted.steps)
    expected, actual = (
        [
            (p.leaf, CertifiedOracle(s).gradient(p.leaf, p.contributions).midpoint)
            for p in predict(s)
            if isinstance(p, Gradient)
        ]
        for s in (scenario, weighted)
    )
    assert len(expected) == len(actual)
    for (leaf, gradient), (other_leaf, other_gradient) in zip(expected, actual, strict=True):
        assert leaf == other_leaf
        np.testing.assert_allclose(gradient, other_gradient, rtol=1e-15, atol=0)
