"""All planted faults and legal choices, by what tells them apart."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.faulty_engines.planted.attributes import ATTRIBUTE_FAULTS, INDEX_FAULTS
from tests.faulty_engines.planted.calls import CALL_FAULTS
from tests.faulty_engines.planted.far_out import EQUAL_FAULTS, FAR_OUT_FAULTS
from tests.faulty_engines.planted.fault import PlantedFault
from tests.faulty_engines.planted.graphs import GRAPH_FAULTS
from tests.faulty_engines.planted.legal import LEGAL_CHOICES
from tests.faulty_engines.planted.memory import MEMORY_FAULTS
from tests.faulty_engines.planted.modes import MODE_FAULTS
from tests.faulty_engines.planted.more_legal import MORE_LEGAL_CHOICES
from tests.faulty_engines.planted.narrow import KNOWN_FAULTS, NARROW_FAULTS
from tests.faulty_engines.planted.neighbours import NEIGHBOUR_FAULTS, NEIGHBOUR_FAULTS_OF_REFERENCE
from tests.faulty_engines.planted.of_jax import JAX_FAULTS
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
    *ATTRIBUTE_FAULTS,
    *INDEX_FAULTS,
    *NEIGHBOUR_FAULTS,
    *MODE_FAULTS,
    *FAR_OUT_FAULTS,
    *EQUAL_FAULTS,
    *NARROW_FAULTS,
    *KNOWN_FAULTS,
    *CALL_FAULTS,
)

FAULTS: Final[Mapping[str, PlantedFault]] = MappingProxyType({
    fault.id: fault for fault in (*OF_PYTORCH, *JAX_FAULTS, *REFERENCE_FAULTS, *NEIGHBOUR_FAULTS_OF_REFERENCE)
})

LEGAL: Final[Mapping[str, PlantedFault]] = MappingProxyType({
    choice.id: choice for choice in (*LEGAL_CHOICES, *MORE_LEGAL_CHOICES)
})

SURVIVORS: Final[Mapping[str, str]] = MappingProxyType({
    "torch, operators/topk: has room for eight of the largest entries": (
        "the row of the table bounds the attribute by three"
    ),
    "torch, operators/scatter: takes lengths of indices for the source's": (
        "the row of the table has an index for each entry of the source"
    ),
    "torch, contracts/multiply: gives an operand away as the other's gradient where the seed is one": (
        "`accumulation/zeros_are_added_to`, on which the check builds, finds it"
    ),
    "torch, edges/abs: sends zeros in the remainder another slope": (
        "zeros at the end of an array are drawn, and in some runs only"
    ),
    "torch, operators/multiply: takes numbers beyond 2**24 for even": (
        "no value of a scenario is larger than 10,000, except in the check of tails, which asks for one digit"
    ),
    "torch, operators/where: multiplies masks with infinite cotangents": "all seeds are finite",
    "torch, half_precision/linear: adds up a bias's gradient to 2048": (
        "an engine may add in float16, which explains any error of 2,049 terms"
    ),
    "torch, half_precision/var: counts 256 entries of a variance in bfloat16": (
        "an engine may add in bfloat16, which explains any error of 257 terms"
    ),
    "torch, graphs/mixed_bfloat16: loses what float32 sends bfloat16": "graphs are drawn, and some runs miss it",
    "torch, half_precision/average: counts 256 entries of a root in bfloat16": (
        "PyTorch has no weighted average in half precision"
    ),
    **dict.fromkeys(
        (
            "torch, half_precision/matvec: counts 256 rows of a matrix in bfloat16",
            "torch, half_precision/outer: counts 2048 rows of a matrix",
        ),
        "only reductions, statistics and normalisations are tried with more rows than the dtype counts",
    ),
})
"""Faults that their check does not find, each with the reason."""
