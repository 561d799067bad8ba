"""Derived faults that the checks which they are derived for do not find, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SEEDS: Final = "`contracts/seeds_stay_as_they_are` uses the operator itself and finds it: seeds are not watched then"
ZEROS: Final = "the operator's own check finds it, since operands hold zeros there too"

SURVIVORS: Final[Mapping[str, str]] = MappingProxyType({
    "contracts/add: writes to its seed": SEEDS,
    "contracts/multiply: writes to its seed": SEEDS,
    "contracts/reshape: writes to its seed": SEEDS,
    "contracts/square: writes to its seed": "`sharing/operands_of_one_sum` uses the operator itself and finds it",
    "edges/cumprod: leaves the subdifferential by 1e-3": ZEROS,
    "edges/det: is no number": ZEROS,
    "edges/prod: is no number": ZEROS,
})
