"""Inventories of JAX's differentiable operators: its primitives, and its public functions."""

from __future__ import annotations

from refgrad.adapters.inventories.jax.functions import functions
from refgrad.adapters.inventories.jax.primitives import primitives
from refgrad.native.adapter import Inventory


def inventories() -> tuple[Inventory, Inventory]:
    """Return the primitives that have a differentiation rule, and the public functions, which are made of them."""
    return primitives(), functions()
