"""All planted faults and legal choices, by what tells them apart."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.faulty_engines.planted.fault import PlantedFault
from tests.faulty_engines.planted.graphs import GRAPH_FAULTS
from tests.faulty_engines.planted.legal import LEGAL_CHOICES
from tests.faulty_engines.planted.memory import MEMORY_FAULTS
from tests.faulty_engines.planted.precision import PRECISION_FAULTS
from tests.faulty_engines.planted.reference import REFERENCE_FAULTS
from tests.faulty_engines.planted.sizes import SIZE_FAULTS
from tests.faulty_engines.planted.time_and_order import TIME_FAULTS
from tests.faulty_engines.planted.values import VALUE_FAULTS
from tests.faulty_engines.planted.wanted import WANTED_FAULTS

OF_PYTORCH: Final[tuple[PlantedFault, ...]] = (
    *SIZE_FAULTS,
    *MEMORY_FAULTS,
    *WANTED_FAULTS,
    *VALUE_FAULTS,
    *PRECISION_FAULTS,
    *TIME_FAULTS,
    *GRAPH_FAULTS,
)

FAULTS: Final[Mapping[str, PlantedFault]] = MappingProxyType({
    fault.id: fault for fault in (*OF_PYTORCH, *REFERENCE_FAULTS)
})

LEGAL: Final[Mapping[str, PlantedFault]] = MappingProxyType({choice.id: choice for choice in LEGAL_CHOICES})

SURVIVORS: Final[Mapping[str, str]] = MappingProxyType({
    "torch, operators/topk: has room for eight of the largest entries": (
        "the row of the table bounds the attribute by three"
    ),
})
"""Faults that their check does not find, each with the reason."""
