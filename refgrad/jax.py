"""``check_grads`` with the arguments of ``jax.test_util.check_grads``, implemented by ``check_gradients``.

>>> import jax.numpy as jnp
>>> check_grads(jnp.sin, (jnp.array([0.5, 2.0]),), order=2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from refgrad.checking import check_gradients
from refgrad.checking.report import answered

__all__ = ["check_grads"]


def check_grads(  # noqa: PLR0913, PLR0917 (the arguments of the original)
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the gradients of ``f`` at ``args`` up to an order, as ``jax.test_util.check_grads`` does.

    Reverse mode is always checked, forward mode if ``modes`` contains ``fwd``. ``atol``, ``rtol`` and ``eps`` are not
    used: the tolerance is derived from rounding, and the message of an error mentions that. Raises
    :class:`refgrad.GradientError`, or a subclass of it if the result is inconclusive.
    """
    report = check_gradients(f, tuple(args), "jax", raise_exception=False, order=max(order, 1), forward="fwd" in modes)
    answered(report, atol=atol, rtol=rtol, eps=eps)
