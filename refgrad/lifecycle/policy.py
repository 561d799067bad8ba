"""Where does the life of an engine's graphs differ by design?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Policy:
    """What an engine promises about the life of its graphs.

    ``frees``: what a backward without retain_graph frees: the ``saved`` buffers of visited nodes, ``never`` anything,
    or ``always`` every visited node (a second backward from the very same output is then the engine's own affair).
    ``implicit_seed``: whether a backward from a non-scalar without a seed is an ``error`` or means a seed of ``ones``.
    ``unrecorded_views``: whether a result that may share memory with an operand, and that was not recorded, is a
    ``constant`` like other results, or the engine's own affair (``open``) while that memory is one that requires grad.
    """

    frees: Literal["saved", "never", "always"] = "saved"
    implicit_seed: Literal["error", "ones"] = "error"
    unrecorded_views: Literal["constant", "open"] = "constant"
