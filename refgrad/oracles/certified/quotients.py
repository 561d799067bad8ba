"""Rounding of the derivative of a product that an engine computes by dividing the product.

The slope of a product by one of its factors is the product of the others. Engines divide the product by the factor
instead (PyTorch, HIPS autograd), which differentiates to terms that cancel: d²(a b) / da² = b / a - a b / a² = 0 is
computed as the rounding error of b / a. So the budget of each change of a slope includes that error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from refgrad.operators import Operator
from refgrad.operators.functions.series import coefficient
from refgrad.oracles.certified.arithmetic import Arithmetic
from refgrad.oracles.certified.series_rounding import change_noise, relative_change

ObjectArray = npt.NDArray[np.object_]


class Tape(Protocol):
    """A tape of scalars with slots."""

    arithmetic: Arithmetic
    edges: list[tuple[tuple[int, Any], ...]]

    def sweep(self, outputs: Mapping[int, Any]) -> list[Any]:
        """Return the cotangent of every slot."""


def is_product(operator: Operator) -> bool:
    """Return True if a structural operator multiplies entries of an array with each other.

    Its slopes by an argument depend on that argument, and it has no kinks.
    """
    saves = {} if operator.structure is None else operator.structure.saves
    return not operator.kinks and any(name in saved for name, saved in saves.items())


def with_quotient_noise(tape: Tape, arguments: list[ObjectArray], products: ObjectArray) -> ObjectArray:
    """Return the same products, with rounding noise in the changes of their slopes by their factors."""
    factors = {ball.slot: ball.value for array in arguments for ball in array.ravel().tolist() if ball.slot >= 0}
    noisy = np.empty(products.size, dtype=object)
    noisy[:] = [_noisy(tape, factors, product) for product in products.ravel().tolist()]
    return noisy.reshape(products.shape)


def _noisy(tape: Tape, factors: Mapping[int, Any], product: Any) -> Any:
    if product.slot < 0:
        return product
    slopes = tape.sweep({product.slot: 1})
    own = {slot: value for slot, value in factors.items() if slot < len(slopes) and slopes[slot] is not None}
    change = sum((relative_change(value) for value in own.values()), relative_change(0))
    bits = tape.arithmetic.bits
    noise = [(slot, change_noise(coefficient(slopes[slot], 0), change, bits)) for slot in own]
    tape.edges.append(((product.slot, 1), *noise))
    return type(product)(product.value, len(tape.edges) - 1, product.tape)
