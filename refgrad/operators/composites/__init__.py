"""Which composite operators are there? One entry a row of ``specs/operators`` that has no formula and no structure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from refgrad.operators.composite import Composite
from refgrad.operators.composites import (
    attention,
    classification,
    contractions,
    factorizations,
    gamma_functions,
    linear_algebra,
    losses,
    movement,
    normalisations,
    ordering,
    pooling,
    scans,
    scattering,
    selection,
    statistics,
    windows,
)

COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    **attention.COMPOSITES,
    **classification.COMPOSITES,
    **contractions.COMPOSITES,
    **factorizations.COMPOSITES,
    **gamma_functions.COMPOSITES,
    **linear_algebra.COMPOSITES,
    **losses.COMPOSITES,
    **movement.COMPOSITES,
    **normalisations.COMPOSITES,
    **ordering.COMPOSITES,
    **pooling.COMPOSITES,
    **scans.COMPOSITES,
    **scattering.COMPOSITES,
    **selection.COMPOSITES,
    **statistics.COMPOSITES,
    **windows.COMPOSITES,
})
