"""Mistakes far outside of what one usually tries: exponentials overflow there, and divisors are negative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refgrad.operators import Operator
from tests.faulty_engines.fault import Fault
from tests.faulty_engines.tapes.tape import Steps, Tape, Tensor, floating


def computed_as(broken: str, name: str, source: str, steps: Callable[..., Tensor]) -> Fault:
    """Return the engine that computes an operator by these steps, and differentiates those."""

    class Naive(Tape):
        faulty = broken

        def apply(self, operator: Operator, *operands: Any, **attributes: Any) -> Tensor:
            if operator.name != broken:
                return super().apply(operator, *operands, **attributes)
            return steps(Steps(self, floating(operands)), *operands, **operator.bind(attributes))

    return Fault(name, source, Naive, frozenset({f"operators/{broken}"}))


def logistic(ops: Any, x: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return ops.reciprocal(ops.add(1.0, ops.exp(ops.negative(x))))  # type: ignore[no-any-return]


def hyperbolic_tangent(ops: Any, x: Tensor) -> Tensor:
    """(exp(x) - exp(-x)) / (exp(x) + exp(-x))."""
    up, down = ops.exp(x), ops.exp(ops.negative(x))
    return ops.divide(ops.subtract(up, down), ops.add(up, down))  # type: ignore[no-any-return]


def logarithm_of_two(ops: Any, x: Tensor, y: Tensor) -> Tensor:
    """log(exp(x) + exp(y))."""
    return ops.log(ops.add(ops.exp(x), ops.exp(y)))  # type: ignore[no-any-return]


def logarithm_of_all(ops: Any, x: Tensor, **along: Any) -> Tensor:
    """log(sum(exp(x)))."""
    return ops.log(ops.sum(ops.exp(x), **along))  # type: ignore[no-any-return]


def shares(ops: Any, x: Tensor, axis: int) -> Tensor:
    """exp(x) / sum(exp(x))."""
    exponentials = ops.exp(x)
    return ops.divide(exponentials, ops.sum(exponentials, axis=axis, keepdims=True))  # type: ignore[no-any-return]


def bent(ops: Any, x: Tensor, alpha: float) -> Tensor:
    """The exponential where x is negative, and nothing of it, times the infinity that it may be, elsewhere."""
    below = ops.multiply(ops.expm1(x), alpha)
    negative = ops.constant(x.array < 0)
    return ops.where(negative, below, x)  # type: ignore[no-any-return]


def power_by_logarithm(ops: Any, x: Tensor, n: int) -> Tensor:
    """x to the n as exp(n log(|x|)), which is right for even n, and for no negative x else."""
    return ops.exp(ops.multiply(ops.log(ops.abs(x)), float(n)))  # type: ignore[no-any-return]


OVERFLOW_FAULTS = (
    computed_as("sigmoid", "takes the logistic function for a quotient of exponentials", "1 / (1 + exp(-x))", logistic),
    computed_as(
        "tanh", "makes tanh of two exponentials", "both overflow, and their quotient is none", hyperbolic_tangent
    ),
    computed_as("logaddexp", "adds two exponentials as they are", "log(exp(x) + exp(y))", logarithm_of_two),
    computed_as("logsumexp", "adds exponentials without taking out the largest", "log(sum(exp(x)))", logarithm_of_all),
    computed_as("softmax", "divides exponentials by their sum as they are", "exp(x) / sum(exp(x))", shares),
    computed_as(
        "integer_power", "raises to a power by a logarithm", "exp(n log(|x|)): the sign is lost", power_by_logarithm
    ),
    computed_as("elu", "computes both branches of elu, and differentiates both", "0 times infinity in where", bent),
    computed_as(
        "divide",
        "divides by the size of the divisor",
        "generic: samples of divisors are positive",
        lambda ops, x, y: ops.multiply(x, ops.reciprocal(ops.abs(y))),
    ),
    computed_as(
        "arctan2",
        "takes the angle of (x, y) for that of y / x",
        "generic: right in two quadrants of four",
        lambda ops, y, x: ops.arctan(ops.divide(y, x)),
    ),
)
"""Engines that are right on small and positive numbers."""
