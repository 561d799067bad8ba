"""Policies: where the lifecycle of an engine's graphs differs by design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Policy:
    """What an engine promises about the lifecycle of its graphs.

    ``frees``: what a backward without retain_graph frees: the ``saved`` buffers of visited nodes, ``never`` anything,
    ``always`` every visited node (a second backward from the very same output is then the engine's own affair), or all
    that is ``connected``, which is what was made of visited leaves too.
    ``implicit_seed``: whether a backward from a non-scalar without a seed is an ``error`` or means a seed of ``ones``.
    ``unrecorded_views``: whether a result that may share memory with an operand, and that was not recorded, is a
    ``constant`` like other results, or the engine's own affair (``open``) while that memory is one that requires grad.
    ``keeps``: whether the ``leaves`` alone keep their gradients, and others if they are told to, or ``all`` tensors do;
    then it is the engine's own affair what views have, and what has something that needs no gradient. Where it is
    ``open``, so is what any other tensor than a leaf has: equal expressions may be one, with one gradient.
    ``accumulates``: whether a backward ``adds`` to gradients, ``overwrites`` those of the tensors that it reaches, or
    ``replaces`` them, in which case a tensor also loses its own as soon as a recorded operation uses it.
    """

    frees: Literal["saved", "never", "always", "connected"] = "saved"
    implicit_seed: Literal["error", "ones"] = "error"
    unrecorded_views: Literal["constant", "open"] = "constant"
    keeps: Literal["leaves", "all", "open"] = "leaves"
    accumulates: Literal["adds", "overwrites", "replaces"] = "adds"
