"""The table of structures, by the names of their rows in ``specs/operators``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from refgrad.operators.operator import Structure
from refgrad.operators.structures import reductions, shapes

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
    "index": shapes.INDEX,
    "take": shapes.TAKE,
    "add_at": shapes.ADD_AT,
    "matmul": reductions.MATMUL,
})
