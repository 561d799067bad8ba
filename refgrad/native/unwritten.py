"""Contents of memory that nothing was written to, or that was freed: bytes with which the C library fills it.

Unfilled, it mostly holds zeros, and an engine that reads it looks right in most runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

BYTE: Final = 0x44
"""Value of each byte. In every format these bytes form a number far from 0 and 1."""

FILLED: Final[Mapping[str, str]] = MappingProxyType({"MALLOC_PERTURB_": str(BYTE ^ 0xFF)})
"""Environment variable by which glibc fills memory. Its value, the complement of ``BYTE``, fills freed memory.

Other C libraries ignore it.
"""

NUMBERS: Final = frozenset({
    abs(float(np.frombuffer(bytes([*before, byte, byte] * 4), dtype)[0]))
    for byte in (BYTE, BYTE ^ 0xFF)
    for before, dtype in (((), "f8"), ((), "f4"), ((), "f2"), ((0, 0), "<f4"))
})
"""Magnitudes of the numbers that these bytes form in each format."""


def is_unwritten(number: float) -> bool:
    """Return True if a number or its negative is one that unwritten or freed memory holds."""
    return abs(number) in NUMBERS
