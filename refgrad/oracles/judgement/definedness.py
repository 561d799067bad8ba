"""Values that do not exist between a leaf and an output. A gradient that is not a number is then not judged.

Where an operator has no value (a logarithm of -1), its derivative is NaN in floating point too, and zero cotangents
that arrive there are multiplied by it. So even gradients that do not depend on the value are NaN in every engine.
"""

from __future__ import annotations

from refgrad.oracles.certified.certified import CertifiedOracle
from refgrad.scenario import Scenario
from refgrad.scenario.rewrite import needed


def undefined_between(oracle: CertifiedOracle, leaf: str, outputs: set[str]) -> str | None:
    """Return the first name between a leaf and the outputs that has an entry without a value, or None."""
    reached = {leaf}
    for name, step in Scenario(needed(oracle.scenario.steps, outputs)).definitions.items():
        if reached.isdisjoint(step.uses):
            continue
        reached.add(name)
        if not oracle.value(name).is_finite:
            return name
    return None
