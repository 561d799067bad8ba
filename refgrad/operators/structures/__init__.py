"""The table of structures, by the names of their rows in ``specs/operators``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from refgrad.operators.structure import Structure
from refgrad.operators.structures import indexing, products, reductions, shapes

STRUCTURES: Mapping[str, Structure] = MappingProxyType({
    "sum": reductions.SUM,
    "mean": reductions.MEAN,
    "prod": reductions.PROD,
    "max": reductions.MAX,
    "min": reductions.MIN,
    "reshape": shapes.RESHAPE,
    "transpose": shapes.TRANSPOSE,
    "broadcast_to": shapes.BROADCAST_TO,
    "expand_dims": shapes.EXPAND_DIMS,
    "squeeze": shapes.SQUEEZE,
    "flip": shapes.FLIP,
    "concatenate": shapes.CONCATENATE,
    "stack": shapes.STACK,
    "index": indexing.INDEX,
    "take": indexing.TAKE,
    "add_at": indexing.ADD_AT,
    "matmul": products.MATMUL,
})
