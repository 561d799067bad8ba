"""The table of composites, by the names of their rows in ``specs/operators``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from refgrad.operators.composites import (
    attention,
    axes,
    contractions,
    linear_algebra,
    losses,
    movement,
    normalisations,
    selection,
    windows,
)
from refgrad.operators.operator import Composite

COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    **attention.COMPOSITES,
    **axes.COMPOSITES,
    **contractions.COMPOSITES,
    **linear_algebra.COMPOSITES,
    **losses.COMPOSITES,
    **movement.COMPOSITES,
    **normalisations.COMPOSITES,
    **selection.COMPOSITES,
    **windows.COMPOSITES,
})
