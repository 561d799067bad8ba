"""Simplifications of directional derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from refgrad.generation.shrinking.simpler_values import simpler_constants
from refgrad.scenario import Jvp
from refgrad.scenario.steps.sequences import Tangent


def simpler_tangents(step: Jvp) -> Iterator[Jvp]:
    """Yield the step with one tangent less, or with a tangent of simpler numbers."""
    for at, (leaf, tangent) in enumerate(step.tangents):
        if len(step.tangents) > 1:
            yield replace(step, tangents=(*step.tangents[:at], *step.tangents[at + 1 :]))
        for simpler in simpler_constants(tangent):
            yield replace(step, tangents=_with(step, at, (leaf, simpler)))


def _with(step: Jvp, at: int, tangent: Tangent) -> tuple[Tangent, ...]:
    return (*step.tangents[:at], tangent, *step.tangents[at + 1 :])
