"""Policies: differences in the lifecycle of graphs that an engine has by design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Policy:
    """The behaviour of an engine in the lifecycle of its graphs.

    ``frees`` is what a backward without retain_graph frees: the ``saved`` buffers of visited nodes, ``never`` anything,
    ``always`` every visited node (a second backward from the same output is then not specified), or all that is
    ``connected``, which includes what was computed from visited leaves.

    ``implicit_seed`` is the meaning of a backward from a non-scalar without a seed: an ``error``, or a seed of
    ``ones``.

    ``unrecorded_views`` is the status of a result that was not recorded and may share memory with an operand: a
    ``constant`` like other results, or not specified (``open``) while that memory is one that requires grad.

    ``keeps`` is the set of tensors that keep their gradients: only the ``leaves``, and others on request, or ``all``
    tensors. With ``all`` the gradients of views, and of tensors that need none, are not specified. With ``open`` only
    the gradients of leaves that require grad are specified: equal expressions may be one tensor, with one gradient.

    ``accumulates`` is what a backward does to gradients: it ``adds`` to them, ``overwrites`` those of the tensors that
    it reaches, or ``replaces`` them; then a tensor also loses its own as soon as a recorded operation uses it.
    """

    frees: Literal["saved", "never", "always", "connected"] = "saved"
    implicit_seed: Literal["error", "ones"] = "error"
    unrecorded_views: Literal["constant", "open"] = "constant"
    keeps: Literal["leaves", "all", "open"] = "leaves"
    accumulates: Literal["adds", "overwrites", "replaces"] = "adds"
