"""``gradcheck`` and ``gradgradcheck`` with the arguments of ``torch.autograd``, implemented by ``check_gradients``.

>>> import torch
>>> gradcheck(torch.sin, (torch.randn(3, dtype=torch.float64, requires_grad=True),))
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refgrad.checking import check_gradients
from refgrad.checking.report import answered

__all__ = ["gradcheck", "gradgradcheck"]


def gradcheck(  # noqa: PLR0913 (the arguments of the original)
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    nondet_tol: float | None = None,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradient of ``func`` at ``inputs`` as ``torch.autograd.gradcheck`` does; return True if it is right.

    ``eps``, ``atol``, ``rtol`` and ``nondet_tol`` are not used: the tolerance is derived from rounding, and the message
    of an error mentions that. ``check_undefined_grad``, ``check_grad_dtypes``, ``check_backward_ad`` and ``fast_mode``
    have no effect either: the first three are always checked, and large inputs are checked along random directions.
    Raises :class:`refgrad.GradientError`, or a subclass of it if the result is inconclusive, unless ``raise_exception``
    is False.
    """
    del check_undefined_grad, check_grad_dtypes, check_backward_ad, fast_mode, masked
    report = check_gradients(
        func,
        inputs,
        raise_exception=False,
        forward=check_forward_ad or check_batched_forward_grad,
        batched=check_batched_grad,
    )
    return answered(report, raise_exception=raise_exception, eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol)


def gradgradcheck(  # noqa: PLR0913 (the arguments of the original)
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float | None = None,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the gradient of the gradient as ``torch.autograd.gradgradcheck`` does, and return True if it is right.

    The cotangents are drawn, whatever ``grad_outputs`` is; the first gradient is checked before the second. The other
    arguments are treated as in :func:`gradcheck`.
    """
    del grad_outputs, gen_non_contig_grad_outputs, check_undefined_grad, check_grad_dtypes, fast_mode, masked
    del check_fwd_over_rev, check_rev_over_rev
    report = check_gradients(func, inputs, raise_exception=False, order=2, batched=check_batched_grad)
    return answered(report, raise_exception=raise_exception, eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol)
