"""Adapters of engines: the table of their fields, engine files, spellings, and the registry of engines."""

from refgrad.errors import EngineStartError
from refgrad.native.adapter.adapter import (
    AdapterError,
    AnyAdapter,
    FunctionalAdapter,
    TapeAdapter,
    checked_adapter,
)
from refgrad.native.adapter.fields import FEATURES, STATEFUL_FEATURES
from refgrad.native.adapter.files import family_rows, read_adapter
from refgrad.native.adapter.registry import (
    Inventory,
    adapter_data,
    adapter_of,
    engine_version,
    find_adapter,
    inventories_of,
    is_reference_engine,
    python_version,
)
from refgrad.native.adapter.spelling import chosen, spell, spellings
from refgrad.native.engine_names import registered_engines
from refgrad.native.languages import package_version
from refgrad.native.languages.language import Template, TemplateError

__all__ = [
    "FEATURES",
    "STATEFUL_FEATURES",
    "AdapterError",
    "AnyAdapter",
    "EngineStartError",
    "FunctionalAdapter",
    "Inventory",
    "TapeAdapter",
    "Template",
    "TemplateError",
    "adapter_data",
    "adapter_of",
    "checked_adapter",
    "chosen",
    "engine_version",
    "family_rows",
    "find_adapter",
    "inventories_of",
    "is_reference_engine",
    "package_version",
    "python_version",
    "read_adapter",
    "registered_engines",
    "spell",
    "spellings",
]
