"""Tensors of an engine, handled by the templates of its adapter, or by code that knows its library."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from refgrad.checking.libraries.jax_arrays import JaxArrays
from refgrad.checking.libraries.library import SubjectError, TensorLibrary, UnsupportedError, WrongError
from refgrad.checking.libraries.torch_tensors import TorchTensors
from refgrad.native.engine import Engine

__all__ = ["SubjectError", "TensorLibrary", "UnsupportedError", "WrongError", "library_of"]

LIBRARIES: Mapping[str, type[TensorLibrary]] = MappingProxyType({"torch": TorchTensors, "jax": JaxArrays})
"""Classes for engines whose library refgrad knows, by the name of the engine."""


@cache
def library_of(engine: Engine) -> TensorLibrary:
    """Return the object that handles an engine's tensors."""
    return LIBRARIES.get(engine.adapter.name, TensorLibrary)(engine)
