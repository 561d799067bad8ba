"""Are the two derivatives of a solver told apart: that of the program as it runs, and that of the equation?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking.report import GradientReport

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines

Rule = Callable[..., Any]


def tensor(values: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


A = tensor([0.5, 2.0, -3.0])
MATRIX = tensor([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, -1.0]])


def newton(a: Any, steps: int) -> Any:
    """Return the root y of y³ + y = a."""
    y = torch.zeros_like(a)
    for _ in range(steps):
        y = y - (y**3 + y - a) / (3 * y**2 + 1)
    return y


def cubic(y: Any, a: Any) -> Any:
    return y**3 + y - a


def root(steps: int, scale: float = 1.0) -> Rule:
    """Return Newton's method with the derivative of the equation, times a factor."""

    class Root(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            y = newton(a.detach(), steps)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return scale * g / (3 * y**2 + 1)

    return Root.apply  # type: ignore[no-any-return]


def outcomes(function: Rule, inputs: Any, equation: Rule, **options: Any) -> dict[str, str]:
    return dict(checked(function, inputs, equation, **options).derivatives)


def checked(function: Rule, inputs: Any, equation: Rule, **options: Any) -> GradientReport:
    return check_gradients(function, inputs, equation=equation, raise_exception=False, **options)


def test_a_converged_iteration_has_one_derivative() -> None:
    assert outcomes(root(20), A, cubic) == {"program": "right", "equation": "right"}
    assert outcomes(lambda a: newton(a, 20), A, cubic) == {"program": "right", "equation": "right"}


def test_an_iteration_that_stops_early_has_two() -> None:
    report = checked(root(6), A, cubic)
    assert report.derivatives == {"program": "wrong", "equation": "right"}
    assert str(report).splitlines()[1:3] == [
        "wrong as the derivative of the program",
        "right as the derivative of the equation",
    ]
    assert outcomes(lambda a: newton(a, 5), A, cubic) == {"program": "right", "equation": "wrong"}


@pytest.mark.parametrize("steps", [5, 20])
def test_a_gradient_that_is_neither_is_wrong(steps: int) -> None:
    report = checked(root(steps, 1.001), A, cubic)
    assert report.outcome == "wrong"
    start = "wrong as the derivative of the program, and as that of the equation the gradient with respect to input 0"
    assert str(report).startswith(start)
    assert "  to see it:\n" in str(report)


def test_a_solver_without_a_graph_is_held_against_its_equation() -> None:
    """Its outputs change in steps, since it stops when the residual is small."""

    def bisected(a: Any) -> Any:
        result = []
        for each in a.detach().tolist():
            low, high = -10.0, 10.0
            while high - low > 1e-3:
                middle = (low + high) / 2
                low, high = (middle, high) if middle**3 + middle < each else (low, middle)
            result.append(low)
        return torch.tensor(result, dtype=torch.float64)

    class Bisected(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            y = bisected(a)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g / (3 * y**2 + 1)

    assert check_gradients(Bisected.apply, A, raise_exception=False).outcome != "right"
    assert checked(Bisected.apply, A, cubic).derivatives["equation"] == "right"


def test_a_fixed_point_with_a_weight() -> None:
    weight, x = tensor([[0.3, -0.2], [0.1, 0.4]]), tensor([0.7, -0.4])

    class Fixed(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, w: Any, x: Any) -> Any:
            y = torch.zeros_like(x)
            for _ in range(60):
                y = torch.tanh(w @ y + x)
            ctx.save_for_backward(w, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            w, y = ctx.saved_tensors
            slopes = 1 - y**2
            inner = torch.linalg.solve(torch.eye(2) - (slopes[:, None] * w).T, g) * slopes
            return torch.outer(inner, y), inner

    equation = lambda y, w, x: y - torch.tanh(w @ y + x)  # noqa: E731 (named for the message)
    assert outcomes(Fixed.apply, (weight, x), equation)["equation"] == "right"
    assert outcomes(Fixed.apply, (weight, x), equation, method="differences")["equation"] == "right"


def test_an_ode_has_the_derivative_of_its_steps_or_of_its_solution() -> None:
    """The adjoint of y' = -a y is that of the exact solution; the steps of Euler's method have another."""

    def euler(a: Any) -> Any:
        y = torch.ones_like(a)
        for _ in range(50):
            y = y - a * y / 50
        return y

    class Adjoint(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            y = euler(a)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return -g * ctx.saved_tensors[0]

    exact = lambda y, a: y.log() + a  # noqa: E731 (named for the message)
    assert outcomes(Adjoint.apply, tensor([0.5, 1.5]), exact) == {"program": "wrong", "equation": "right"}
    assert outcomes(euler, tensor([0.5, 1.5]), exact) == {"program": "right", "equation": "wrong"}


def eigen(a: Any) -> Any:
    return tuple(torch.linalg.eigh((a + a.T) / 2))


def test_eigenvectors_with_their_equation() -> None:
    def equation(values: Any, vectors: Any, a: Any) -> Any:
        symmetric = (a + a.T) / 2
        return symmetric @ vectors - vectors * values, (vectors * vectors).sum(0) - 1

    assert outcomes(eigen, MATRIX, equation) == {"program": "right", "equation": "right"}


def test_what_does_not_depend_on_the_gauge_is_composed_with_the_function() -> None:
    calls: list[int] = []

    def any_sign(a: Any) -> Any:
        calls.append(len(calls))
        return eigen(a)[1][:, 0] * (1 if len(calls) % 3 else -1)

    assert check_gradients(any_sign, MATRIX, raise_exception=False).outcome == "inconclusive"
    assert check_gradients(lambda a: torch.outer(any_sign(a), any_sign(a)) ** 2, MATRIX).outcome == "right"


@pytest.mark.parametrize(
    "equation", [lambda y, _: y.sum(), lambda y, a: 0 * (y - a), lambda y, a: (y - a, y)], ids=["few", "zero", "many"]
)
def test_an_equation_that_does_not_determine_the_outputs_is_refused(equation: Rule) -> None:
    report = checked(root(20), A, equation)
    assert (report.outcome, report.cause) == ("inconclusive", "unsupported")
    assert str(report) == "the equation does not determine the outputs: it must have as many entries as they"


def test_an_equation_needs_the_first_order() -> None:
    with pytest.raises(ValueError, match="leave out other modes"):
        check_gradients(root(20), A, equation=cubic, order=2)


def test_arrays_of_numpy_have_equations_too() -> None:
    x = np.array([0.5, 2.0])
    report = check_gradients(
        np.sqrt, x, gradient=lambda g, x: g / (2 * np.sqrt(x)), equation=lambda y, x: y * y - x
    )  # fmt: skip
    assert report.derivatives == {"program": "right", "equation": "right"}
    assert math.isclose(report.entries, 2)
