"""Values that do not exist on a gradient's way; then nothing is said of an engine whose answer is not a number.

Where an operator has no value (a logarithm of -1), its derivative is not a number in floating point either, and zeros
that arrive there are multiplied by it: what nothing depends on is not a number in every engine.
"""

from __future__ import annotations

from refgrad.oracles.certified.certified import CertifiedOracle
from refgrad.oracles.relevance import leading_to


def undefined_between(oracle: CertifiedOracle, leaf: str, outputs: set[str]) -> str | None:
    """Return the first name between a leaf and the outputs of which some entry has no value, or None."""
    reached = {leaf}
    for name, step in leading_to(oracle.scenario, outputs).definitions.items():
        if reached.isdisjoint(step.uses):
            continue
        reached.add(name)
        if not oracle.value(name).is_finite:
            return name
    return None
