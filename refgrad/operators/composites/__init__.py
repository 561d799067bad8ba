"""The table of composites, by the names of their rows in ``specs/operators``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from refgrad.operators.composite import Composite
from refgrad.operators.composites import gamma_functions
from refgrad.operators.composites.axes import ordering, scans, statistics
from refgrad.operators.composites.entries import movement, scattering, selection
from refgrad.operators.composites.layers import attention, classification, losses, normalisations, pooling, windows
from refgrad.operators.composites.matrices import contractions, factorizations, linear_algebra

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
