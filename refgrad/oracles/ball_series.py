"""What are a scenario's certified derivatives of any order along a direction, by FLINT's power series alone?

The leaves move along x + t · direction while the forward part runs in series in t; k! times the coefficient of t to the
k is the k-th derivative. Nothing is swept, and there is no rule for any derivative but FLINT's own, so this is held
against the sweeps of the tape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb

from refgrad.interpreter import evaluate
from refgrad.oracles.arithmetic import SeriesArithmetic
from refgrad.oracles.ball_tape import BallTape, ObjectArray
from refgrad.oracles.certified import TRUTH_BITS
from refgrad.oracles.series_functions import coefficient
from refgrad.scenario import Grad, Scenario

Direction = Mapping[str, npt.NDArray[np.float64]]


def derivatives_along(
    scenario: Scenario, direction: Direction, order: int, bits: int = TRUTH_BITS
) -> dict[str, ObjectArray]:
    """Return, for every name but those of conditions, balls of each entry's ``order``-th derivative along a direction.

    ``direction`` has an array of the leaf's shape for each leaf that moves; the others stand still. A ball is not a
    number where a kink, a jump or the border of a domain may lie at the point, and for recorded gradients and what is
    made of them. Raises ScenarioEvaluationError where shapes do not fit, and ValueError for a direction of another
    shape than its leaf or a negative order.
    """
    if order < 0:
        raise ValueError(f"a derivative has an order of at least 0, not {order}")
    arithmetic = SeriesArithmetic("truth", bits, tuple(_directions(scenario, direction)), order + 1, values_only=True)
    with arithmetic.context():
        values = evaluate(scenario, BallTape(arithmetic, _unknown))
        factor = math.factorial(order)
        numbers = {name: array for name, array in values.items() if name not in _conditions(scenario)}
        return {name: _derivatives(array, order, factor) for name, array in numbers.items()}


def _directions(scenario: Scenario, direction: Direction) -> list[tuple[str, tuple[arb, ...]]]:
    leaves = {leaf.name: leaf for leaf in scenario.leaves}
    for name, array in direction.items():
        if name not in leaves or array.shape != leaves[name].value.shape:
            raise ValueError(f"the direction of {name!r} has the shape {array.shape}, which is not that of such a leaf")
    return [(name, tuple(arb(x) for x in array.ravel().tolist())) for name, array in direction.items()]


def _conditions(scenario: Scenario) -> set[str]:
    return {leaf.name for leaf in scenario.leaves if leaf.value.dtype == "bool"}


def _unknown(step: Grad, values: Mapping[str, Any]) -> ObjectArray:
    return np.full(values[step.leaf].shape, arb.nan(), dtype=object)


def _derivatives(array: ObjectArray, order: int, factor: int) -> ObjectArray:
    derivatives = np.empty(array.size, dtype=object)
    derivatives[:] = [coefficient(ball.value, order) * factor for ball in array.ravel().tolist()]
    return derivatives.reshape(array.shape)
