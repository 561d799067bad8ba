"""Tangents of a scenario whose leaves were changed, and scenarios without tangents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.scenario import Constant, Jvp, Leaf, Scenario, Step


def with_fitting_tangents(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps with each tangent in its leaf's shape and dtype.

    Tangents of anything else than a leaf that requires grad are dropped.
    """
    given = tuple(steps)
    leaves = {step.name: step.value for step in given if isinstance(step, Leaf) and step.requires_grad}
    return tuple(
        replace(step, tangents=tuple(_fitting(step, leaves).items())) if isinstance(step, Jvp) else step
        for step in given
    )


def without_tangents(scenario: Scenario) -> Scenario:
    """Return the scenario without directional derivatives, and without the steps that depend on them."""
    gone: set[str] = set()
    kept: list[Step] = []
    for step in scenario.steps:
        if not isinstance(step, Jvp) and gone.isdisjoint(step.uses):
            kept.append(step)
        elif step.defines is not None:
            gone.add(step.defines)
    return Scenario(tuple(kept))


def _fitting(step: Jvp, leaves: dict[str, Constant]) -> dict[str, Constant]:
    return {name: _fitted(tangent, leaves[name]) for name, tangent in step.tangents if name in leaves}


def _fitted(tangent: Constant, leaf: Constant) -> Constant:
    if (tangent.dtype, tangent.shape) == (leaf.dtype, leaf.shape):
        return tangent
    return Constant.of(resized(tangent.to_numpy(), leaf.shape), leaf.dtype)


def resized(array: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return an array of another shape, cut or with its entries repeated; of ones if it has no entries."""
    old = array if array.size else np.ones(1)
    if old.ndim == len(shape) and all(a >= b for a, b in zip(old.shape, shape, strict=True)):
        new = old[tuple(slice(length) for length in shape)]
    else:
        new = np.resize(old, shape)
    return np.ascontiguousarray(new).reshape(shape)
