"""The table of libraries of which more is known than their adapters tell."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from refgrad.checking.libraries.jax_arrays import JaxArrays
from refgrad.checking.libraries.library import Library
from refgrad.checking.libraries.torch_tensors import TorchTensors
from refgrad.native.engine import Engine

LIBRARIES: Mapping[str, type[Library]] = MappingProxyType({"torch": TorchTensors, "jax": JaxArrays})


@cache
def library_of(engine: Engine) -> Library:
    """Return what handles an engine's tensors."""
    return LIBRARIES.get(engine.adapter.name, Library)(engine)
