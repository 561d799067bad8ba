"""What memory holds that nothing was written to, or that was freed: bytes that the C library fills it with.

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
"""How an environment asks for it, of glibc: of the complement of the byte, which fills memory that is freed.

Other libraries do not heed it.
"""

NUMBERS: Final = frozenset({
    abs(float(np.frombuffer(bytes([*before, byte, byte] * 4), dtype)[0]))
    for byte in (BYTE, BYTE ^ 0xFF)
    for before, dtype in (((), "f8"), ((), "f4"), ((), "f2"), ((0, 0), "<f4"))
})
"""Magnitudes of what the bytes are in each format."""


def is_unwritten(number: float) -> bool:
    """Whether a number, or what it is the negative of, stands in memory that nothing was written to, or freed."""
    return abs(number) in NUMBERS
