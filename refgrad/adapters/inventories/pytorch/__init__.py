"""The differentiable operators that PyTorch says it has: its table of derivatives, and its public functions."""

from __future__ import annotations

from refgrad.adapters.inventories.pytorch.formulas import formulas
from refgrad.adapters.inventories.pytorch.functions import functions
from refgrad.native.adapter import Inventory


def inventories() -> tuple[Inventory, Inventory]:
    """Return the operators that have a formula of their own, and the public functions, most of which are made of them.

    Raises OSError where PyTorch does not bring its table.
    """
    return formulas(), functions()
