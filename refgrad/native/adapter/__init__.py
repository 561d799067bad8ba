"""Adapters of engines: the table of their fields, engine files, spellings, and the registry of engines."""

from refgrad.native.adapter.adapter import AdapterError, AnyAdapter, FunctionalAdapter, TapeAdapter
from refgrad.native.adapter.fields import FEATURES, STATEFUL_FEATURES
from refgrad.native.adapter.files import family_rows, read_adapter
from refgrad.native.adapter.registry import Inventory, engine_version, find_adapter, inventories_of, python_version
from refgrad.native.adapter.spelling import spell, spellings
from refgrad.native.languages import package_version
