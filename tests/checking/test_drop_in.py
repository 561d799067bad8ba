"""Do the functions with the names and arguments of PyTorch's and JAX's checkers answer as these should?"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refgrad import GradientError
from refgrad.checking import InconclusiveError
from refgrad.jax import check_grads
from refgrad.torch import gradcheck, gradgradcheck
from tests.checking.own_functions import FAULTS, square_with

pytestmark = pytest.mark.engines

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "from-gradcheck.md"


def test_the_arguments_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    for ours, theirs in ((gradcheck, torch.autograd.gradcheck), (gradgradcheck, torch.autograd.gradgradcheck)):
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)


def test_the_arguments_are_those_of_jax() -> None:
    test_util = pytest.importorskip("jax.test_util", reason="needs refgrad[jax]")
    theirs = inspect.signature(test_util.check_grads).parameters
    assert list(inspect.signature(check_grads).parameters) == list(theirs)


def test_right_and_wrong_functions_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(torch.sin, x) is True
    assert gradcheck(torch.sin, (x,), eps=1e-6, atol=1e-5, check_forward_ad=True, check_batched_grad=True) is True
    assert gradgradcheck(torch.sin, (x,)) is True
    assert gradcheck(lambda x: x * x.detach(), (x,), raise_exception=False) is False
    assert gradgradcheck(lambda x: x * x.detach(), (x,), raise_exception=False) is False


def test_tolerances_are_answered_with_what_was_used_instead() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(GradientError) as caught:
        gradcheck(lambda x: x * x.detach(), (x,), eps=1e-6, atol=1e-4)
    assert str(caught.value).splitlines()[-1] == (
        "eps, atol not used: the gradient was held against certified intervals, within what rounding explains"
    )
    with pytest.raises(GradientError) as caught:
        gradcheck(lambda x: x * x.detach(), (x,))
    assert "not used" not in str(caught.value)


def test_what_is_inconclusive_raises_an_error_of_its_own() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    with pytest.raises(InconclusiveError):
        gradcheck(torch.log, (torch.tensor([-1.0], dtype=torch.float64, requires_grad=True),))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_right_and_wrong_functions_of_jax(order: int) -> None:
    jax = pytest.importorskip("jax", reason="needs refgrad[jax]")

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def square(x: Any) -> Any:
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, g: (3 * x * g,))
    x = np.array([0.5, 2.0])
    check_grads(jax.numpy.sin, (x,), order, rtol=1e-3)
    with pytest.raises(GradientError, match="rtol not used"):
        check_grads(square, (x,), order, modes=["rev"], rtol=1e-3)


def test_the_fixture_is_the_function(check_gradients: Any) -> None:
    assert check_gradients(square_with(lambda g, x: 2 * x * g), np.array([0.5]), "autograd").outcome == "right"
    with pytest.raises(GradientError):
        check_gradients(square_with(FAULTS["half"]), np.array([0.5]), "autograd")


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_the_examples_of_docstrings_run(library: str) -> None:
    pytest.importorskip(library, reason=f"needs refgrad[{library}]")
    assert doctest.testmod(importlib.import_module(f"refgrad.{library}")) == (0, 2)


def test_the_examples_of_the_page_run() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    pytest.importorskip("jax", reason="needs refgrad[jax]")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    namespace: dict[str, Any] = {"torch": torch}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), namespace)
    namespace["test_my_function"](__import__("refgrad").check_gradients)
