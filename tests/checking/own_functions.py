"""Functions with a backward of one's own, right or wrong, as users of HIPS autograd write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
Backward = Callable[[Array, Array], Any]

pytest.importorskip("autograd", reason="needs refgrad[autograd]")

from autograd.extend import defvjp, primitive  # noqa: E402 (only where it is installed)


def own(forward: Callable[..., Any], backward: Backward) -> Callable[..., Any]:
    """Return ``forward`` with a backward that gets the cotangent and the input."""

    @primitive  # type: ignore[untyped-decorator]
    def function(x: Any) -> Any:
        return forward(x)

    defvjp(function, lambda _answer, x: lambda cotangent: backward(cotangent, x))
    return function  # type: ignore[no-any-return]


def square_with(backward: Backward) -> Callable[..., Any]:
    """Return the square with a backward of one's own."""
    return own(lambda x: x * x, backward)


def inputs(*shape: int) -> Array:
    """Return numbers away from 0, 1 and each other."""
    return np.random.default_rng(7).uniform(0.6, 1.9, shape)


def flipped_sign(cotangent: Array, x: Array) -> Array:
    result = 2 * x * cotangent
    result.flat[700 % x.size] *= -1
    return result


def overwritten_input(cotangent: Array, x: Array) -> Array:
    result = 2 * x * cotangent
    x += 1
    return result


def overwritten_seed(cotangent: Array, x: Array) -> Array:
    cotangent *= 2 * x
    return cotangent


FAULTS: dict[str, Backward] = {
    "0.09 % too large": lambda g, x: 2.0018 * x * g,
    "1e-9 too large": lambda g, x: 2 * x * g * (1 + 1e-9),
    "sign flipped": flipped_sign,
    "half": lambda g, x: x * g,
    "ignores the seed": lambda _, x: 2 * x,
    "squares the seed": lambda g, x: 2 * x * g * g,
    "nothing arrives": lambda g, x: 0 * x * g,
    "not a number": lambda g, x: np.nan * x * g,
    "computed in float32": lambda g, x: (2 * x * g).astype(np.float32).astype(np.float64),
    "writes to its input": overwritten_input,
    "writes to the seed": overwritten_seed,
}
