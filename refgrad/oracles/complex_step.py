"""What is the gradient by a step in an imaginary direction, where there is nothing to cancel?

For an analytic f that is real on the real line, f(x + ih) = f(x) + ih f'(x) + O(h²), so Im f(x + ih) / h is the
derivative up to rounding, whatever small h is (W. Squire and G. Trapp, Using complex variables to estimate derivatives
of real functions, SIAM Review 1998). On a function that is not analytic (abs, maximum, an angle) the answer is silently
wrong; there the step is refused. Whether an operator is analytic follows from its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import Batch, BatchedComplex128, analytic_expression, evaluate
from refgrad.operators import Operator, operator_table
from refgrad.oracles.relevance import leading_to
from refgrad.scenario import Apply, Constant, Grad, Leaf, Scenario

Contributions = tuple[tuple[str, Constant | None], ...]
Floats = npt.NDArray[np.float64]

STEP = 2.0**-100
"""So small that its square is below the last bit of everything, and exact to divide by."""

BATCH_BYTES = 2**20


class ComplexStepRefusedError(ValueError):
    """An operator between a leaf and the output is not analytic; the message names the operator and why."""


def complex_step(scenario: Scenario, contributions: Contributions) -> dict[str, Floats]:
    """Differentiate the sum of seed · output over the contributions with respect to every leaf that requires grad.

    Returns an array of each leaf's shape. Raises ComplexStepRefusedError where an operator on the way is not analytic,
    and ScenarioEvaluationError where shapes do not fit.
    """
    path = leading_to(scenario, {output for output, _ in contributions})
    refuse_what_is_not_analytic(path)
    with np.errstate(all="ignore"):
        return {
            leaf.name: _of_leaf(path, contributions, leaf) if leaf in path.leaves else np.zeros(leaf.value.shape)
            for leaf in scenario.leaves
            if leaf.requires_grad
        }


def refuse_what_is_not_analytic(scenario: Scenario) -> None:
    """Raise ComplexStepRefusedError for the first operator that is not analytic in what varies with a leaf."""
    varying = {leaf.name for leaf in scenario.leaves if leaf.requires_grad}
    for name, step in scenario.definitions.items():
        if isinstance(step, Grad):
            raise ComplexStepRefusedError(f"{name} is a recorded gradient, which has no complex values")
        if isinstance(step, Apply) and varying.intersection(step.uses):
            varying.add(name)
            reason = obstacle(operator_table()[step.operator])
            if reason is not None:
                raise ComplexStepRefusedError(f"{name}: {step.operator} is not analytic: {reason}")


@cache
def obstacle(operator: Operator) -> str | None:
    """Return why an operator is not analytic in its arguments, or None where it is."""
    if not operator.elementwise:
        return "entries are compared with each other" if operator.kinks else None
    if analytic_expression(operator) is not None:
        return None
    assert operator.formula is not None
    return f"its formula is {operator.formula.source!r}"


def _of_leaf(scenario: Scenario, contributions: Contributions, leaf: Leaf) -> Floats:
    base = leaf.value.to_numpy().astype(np.complex128)
    slopes = np.zeros(base.size)
    length = max(1, BATCH_BYTES // (16 * max(base.size, 1)))
    for start in range(0, base.size, length):
        entries = np.arange(start, min(start + length, base.size))
        points = np.repeat(base.ravel()[:, None], len(entries), axis=1)
        points[entries, np.arange(len(entries))] += 1j * STEP
        values = evaluate(scenario, BatchedComplex128({leaf.name: points.reshape(*base.shape, -1)}))
        slopes[entries] = _total(values, contributions, len(entries)).imag / STEP
    return slopes.reshape(base.shape)


def _total(values: Mapping[str, Batch], contributions: Contributions, points: int) -> npt.NDArray[np.complex128]:
    total = np.zeros(points, dtype=np.complex128)
    for output, seed in contributions:
        array = values[output].stretched(points).reshape(-1, points)
        weights = np.ones(len(array)) if seed is None else seed.to_numpy().astype(np.float64).ravel()
        total = total + weights @ array
    return total
