"""Adapters of engines, what runs scenarios on them, and programs that show the same."""

from refgrad.native.adapter import (
    FEATURES,
    Adapter,
    AdapterError,
    AnyAdapter,
    FunctionalAdapter,
    Inventory,
    TapeAdapter,
    engine_version,
    find_adapter,
    inventories_of,
    registered_engines,
    spell,
)
from refgrad.native.engine import Engine, EngineStartError, observe, reproduce, start

__all__ = [
    "FEATURES",
    "Adapter",
    "AdapterError",
    "AnyAdapter",
    "Engine",
    "EngineStartError",
    "FunctionalAdapter",
    "Inventory",
    "TapeAdapter",
    "engine_version",
    "find_adapter",
    "inventories_of",
    "observe",
    "registered_engines",
    "reproduce",
    "spell",
    "start",
]
