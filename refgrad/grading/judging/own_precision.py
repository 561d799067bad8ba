"""Precision in which a gradient is judged where leaves have several dtypes, and detection of float32 results.

A scenario is judged in the precision of its coarsest leaf, since a result of that leaf alone is rounded to it. The
gradient of a float64 leaf is judged in float64 if each result on its way is promoted to float64 under the promotion
rules of every engine: narrower leaves then enter as the exact numbers that they hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from refgrad.native.observation import Observation
from refgrad.operators import operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Apply, Constant, Leaf, Scenario
from refgrad.scenario.formats import FLOAT64, coarsest, rounded
from refgrad.scenario.promotion import promoted

LONG: Final = 20
"""Number of significand bits; a float32 that needs more is no product of short numbers."""


def shows_float32(observations: Iterable[Observation]) -> bool:
    """Return True if all floating numbers that an engine shows are float32, and one needs more than ``LONG`` bits."""
    arrays = [each.array.ravel() for each in observations if each.array is not None and each.array.dtype.kind == "f"]
    numbers = np.concatenate([np.zeros(0), *arrays])
    numbers = numbers[np.isfinite(numbers)]
    scaled = np.ldexp(np.frexp(numbers)[0], LONG)
    return bool(np.all(rounded(numbers, "float32") == numbers) and np.any(scaled != np.rint(scaled)))


def in_float64(oracle: CertifiedOracle, leaf: str, outputs: Iterable[str]) -> CertifiedOracle:
    """Return the oracle that judges the gradient of a leaf: one of float64 if the gradient is computed in that.

    Results of an engine whose own dtype is coarser than those of all leaves are judged in the engine's dtype.
    """
    if oracle.form == FLOAT64 or oracle.dtypes[leaf] != {"float64"}:
        return oracle
    if oracle.form != coarsest(leaf.value.dtype for leaf in oracle.original.leaves):
        return oracle
    if not all(_stays(oracle, output) for output in outputs):
        return oracle
    return CertifiedOracle(_widened(oracle.original))


def _stays(oracle: CertifiedOracle, name: str) -> bool:
    """Return True if a name is a leaf, or it and the results that it depends on are float64 in every engine."""
    step = oracle.original.definitions[name]
    if isinstance(step, Leaf):
        return True
    if not isinstance(step, Apply):
        return False
    floating = [operand for operand in step.arguments if oracle.dtypes[operand]]
    wide = [operand for operand in floating if promoted(oracle.dtypes[operand]) == "float64"]
    narrow = [operand for operand in floating if operand not in wide]
    if narrow and not (operator_table()[step.operator].elementwise and _outranks(oracle, wide, narrow)):
        return False
    return all(_stays(oracle, operand) for operand in wide)


def _outranks(oracle: CertifiedOracle, wide: list[str], narrow: list[str]) -> bool:
    """Return True if wide operands decide the dtype even where 0-d arrays count less, and narrow ones are leaves."""
    definitions = oracle.original.definitions
    plain = all(isinstance(definitions[operand], Leaf) for operand in narrow)
    ranks = [[oracle.value(operand).midpoint.ndim for operand in operands] for operands in (wide, narrow)]
    return plain and bool(wide) and (max(ranks[0]) > 0 or max(ranks[1]) == 0)


def _widened(scenario: Scenario) -> Scenario:
    """Return the scenario with the same numbers in float64 leaves."""
    return Scenario(
        tuple(
            replace(step, value=Constant.of(step.value.to_numpy().astype(np.float64)))
            if isinstance(step, Leaf) and step.value.dtype != "bool"
            else step
            for step in scenario.steps
        )
    )
