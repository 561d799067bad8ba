"""Inventories of PyTorch's differentiable operators: its table of derivatives, and its public functions."""

from __future__ import annotations

from refgrad.adapters.inventories.pytorch.formulas import formulas
from refgrad.adapters.inventories.pytorch.functions import functions
from refgrad.native.adapter import Inventory


def inventories() -> tuple[Inventory, Inventory]:
    """Return the operators with a derivative formula of their own, and the public functions, most of which call them.

    Raises OSError if PyTorch does not ship its table.
    """
    return formulas(), functions()
