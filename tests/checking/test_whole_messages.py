"""Snapshots of the messages about functions that are wrong in the ways in which backwards are wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import count
from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from tests.checking.own_functions import FAULTS, inputs, own, square_with
from tests.snapshots.placement import PlainText

anp: Any = pytest.importorskip("autograd.numpy", reason="needs refgrad[autograd]")
extend: Any = pytest.importorskip("autograd.extend", reason="needs refgrad[autograd]")

pytestmark = pytest.mark.engines

Function = Callable[..., Any]
Case = tuple[Function, tuple[Any, ...]]


def product_with(of_a: Function, of_b: Function) -> Function:
    """Return a product of two arrays, with a backward for each."""

    @extend.primitive  # type: ignore[untyped-decorator]
    def function(a: Any, b: Any) -> Any:
        return a * b

    extend.defvjp(function, lambda _, a, b: lambda g: of_a(g, a, b), lambda _, a, b: lambda g: of_b(g, a, b))
    return function  # type: ignore[no-any-return]


SMALL, LARGE = inputs(3, 4), inputs(30, 30)
ROWS = np.arange(3.0)[:, None]

SINGLE: Mapping[str, Case] = {
    **{name: (square_with(rule), (SMALL,)) for name, rule in FAULTS.items() if not name.startswith("writes")},
    "rows have factors": (square_with(lambda g, x: 2 * x * g * (1 + ROWS)), (SMALL,)),
    "a row gets nothing": (square_with(lambda g, x: 2 * x * g * (ROWS != 1)), (SMALL,)),
    "a column is doubled": (square_with(lambda g, x: 2 * x * g * [1, 2, 1, 1]), (SMALL,)),
    "a number": (square_with(lambda g, x: 3 * x * g), (np.array(1.5),)),
    "transposed": (own(lambda x: 2 * x.T, lambda g, x: 2 * g.reshape(x.shape)), (SMALL,)),
    "reversed": (own(lambda x: x[::-1] * 2, lambda g, _: 2 * g), (SMALL[0],)),
    "shifted": (own(lambda x: np.roll(x, 1), lambda g, _: g), (SMALL[0],)),
    "adds the cotangent": (square_with(lambda g, x: 2 * x * g + g), (SMALL,)),
    "adds the input": (square_with(lambda g, x: 2 * x * g + 0.5 * x), (SMALL,)),
    "adds a number": (square_with(lambda g, x: 2 * x * g + 0.25), (SMALL,)),
    "lacks a mean": (own(lambda x: x - x.mean(1, keepdims=True), lambda g, _: g), (SMALL,)),
    "lacks a sum": (own(lambda x: x.sum(0) * 2, lambda g, x: np.broadcast_to(g, x.shape)), (SMALL,)),
    "has no sign": (own(np.abs, lambda g, _: g), (-SMALL[0],)),
    "one of many": (square_with(FAULTS["sign flipped"]), (LARGE,)),
    "all of many": (square_with(FAULTS["half"]), (LARGE,)),
    "swapped": (product_with(lambda g, a, _: g * a, lambda g, _, b: g * b), (SMALL[0], SMALL[1])),
    "nothing for the second": (product_with(lambda g, _, b: g * b, lambda g, a, _: 0 * g * a), (SMALL, SMALL + 1)),
    "the second output": (lambda x: (anp.sin(x), square_with(FAULTS["half"])(x)), (SMALL[0],)),
    "both outputs": (lambda x: (square_with(FAULTS["half"])(x), square_with(FAULTS["half"])(anp.sin(x))), (SMALL[0],)),
}
"""Functions with a wrong backward, with their inputs."""


def shortened(message: str) -> str:
    """Return a message without the setup of its program, and with numbers of few digits."""
    text = re.sub(r"(to see it:\n).*?(?=^    x0 = )", r"\1", message, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"-?\d+\.\d{3,}(e[+-]?\d+)?", lambda match: f"{float(match[0]):.5g}", text)
    return re.sub(r"\d(\.\d)?e(?=\S+( times what|\W\(by))", "1e", text)


def counted(function: Function, calls: Iterator[int]) -> Function:
    """Return a function that takes a number of the iterator at each call."""

    @wraps(function)
    def called(*arguments: Any) -> Any:
        next(calls)
        return function(*arguments)

    return called


@pytest.mark.parametrize("method", ["auto", "differences"])
def test_messages_about_wrong_functions(method: Any, snapshot: Any) -> None:
    messages = []
    for name, (function, arrays) in SINGLE.items():
        calls = count(1)
        report = check_gradients(counted(function, calls), arrays, "autograd", method=method, raise_exception=False)
        messages.append(f"{name}, after {next(calls) - 1} calls: {shortened(report.message)}\n")
    assert "\n".join(messages) == snapshot(extension_class=PlainText)
