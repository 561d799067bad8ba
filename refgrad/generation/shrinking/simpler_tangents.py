"""Directional derivatives that are simpler than given ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from refgrad.generation.shrinking.simpler_values import simpler_constants
from refgrad.scenario import Jvp
from refgrad.scenario.steps.jvp import Tangent


def simpler_tangents(step: Jvp) -> Iterator[Jvp]:
    """Yield the step with a tangent less, or with a tangent of simpler numbers."""
    for at, (leaf, tangent) in enumerate(step.tangents):
        if len(step.tangents) > 1:
            yield replace(step, tangents=(*step.tangents[:at], *step.tangents[at + 1 :]))
        for simpler in simpler_constants(tangent):
            yield replace(step, tangents=_with(step, at, (leaf, simpler)))


def renamed_tangents(step: Jvp, names: dict[str, str]) -> Jvp:
    """Return the step with other names for the output and the leaves; one that is not given stays."""
    tangents = tuple((names.get(leaf, leaf), tangent) for leaf, tangent in step.tangents)
    return replace(step, output=names.get(step.output, step.output), tangents=tangents)


def _with(step: Jvp, at: int, tangent: Tangent) -> tuple[Tangent, ...]:
    return (*step.tangents[:at], tangent, *step.tangents[at + 1 :])
