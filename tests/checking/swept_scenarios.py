"""Scenarios that are screened as `check_gradients` screens traced functions: by one sweep along a random direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from refgrad.checking.screening import ROUNDING, Array, Contributions, Duals, Sweep
from refgrad.interpreter import evaluate, expanded
from refgrad.scenario import Scenario


class Written:
    """A scenario, without composite operators."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = expanded(scenario)
        self.operations = len(self.scenario.applications)

    def evaluated(self, system: Duals) -> Mapping[str, Any]:
        """Return the value of every name."""
        return evaluate(self.scenario, system)


def passes(
    scenario: Scenario, contributions: Contributions, gradients: Mapping[str, Array], choices: np.random.Generator
) -> bool:
    """Return True if the gradients (by leaf) of the sum of seed · output are right along one random direction.

    False does not mean that they are wrong.
    """
    return Sweep(Written(scenario), gradients, choices).passes(contributions, ROUNDING)
