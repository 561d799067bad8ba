"""Composites of logarithms of the gamma function."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators.composite import Composite, Operators


def mvlgamma(ops: Operators, x: Any, *, p: int) -> Any:
    """Return the log-gamma function of p dimensions (NIST DLMF 35.3.4); log(pi) / 2 is computed as lgamma(1 / 2)."""
    total = ops.multiply(ops.lgamma(ops.constant(np.array(0.5))), p * (p - 1) / 2)
    for number in range(p):
        total = ops.add(total, ops.lgamma(ops.subtract(x, number / 2)))
    return total


COMPOSITES: Mapping[str, Composite] = MappingProxyType({"mvlgamma": Composite(mvlgamma)})
