"""What memory holds that nothing was written to: bytes that the C library is told to fill it with.

Without that it mostly holds zeros, and an engine that reads it looks right in most runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

BYTE: Final = 0x44
"""Stands in every byte. As many as a number has make one far from 0 and 1 in each format."""

FILLED: Final[Mapping[str, str]] = MappingProxyType({"MALLOC_PERTURB_": str(BYTE ^ 0xFF)})
"""How an environment asks for it, of glibc: of the complement of the byte. Other libraries do not heed it."""

NUMBERS: Final = frozenset({
    *(float(np.frombuffer(bytes([BYTE] * 8), dtype)[0]) for dtype in (np.float64, np.float32, np.float16)),
    float(np.frombuffer(bytes([0, 0, BYTE, BYTE]), "<f4")[0]),
})
"""What the bytes are in each format."""


def is_unwritten(number: float) -> bool:
    """Whether a number, or what it is the negative of, stands in memory that nothing was written to."""
    return abs(number) in NUMBERS
