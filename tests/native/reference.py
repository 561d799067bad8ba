"""The adapter of the reference engine, which tests change and run."""

from __future__ import annotations

from typing import Final

from refgrad.native.adapter import TapeAdapter, find_adapter

_found = find_adapter("refgrad")
assert isinstance(_found, TapeAdapter)

ADAPTER: Final = _found
