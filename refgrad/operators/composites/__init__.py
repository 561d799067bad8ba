"""The composites, found by the names of their rows in ``specs/operators``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from refgrad.operators.composites import (
    axes,
    contractions,
    layers,
    linear_algebra,
    losses,
    movement,
    selection,
    windows,
)
from refgrad.operators.operator import Composite

WRAPPERS: Mapping[ModuleType, Callable[[Callable[..., Any]], Composite]] = MappingProxyType({
    **dict.fromkeys((axes, contractions, layers, linear_algebra, windows), Composite),
    losses: losses.reduced,
    **dict.fromkeys((movement, selection), movement.moved),
})
"""For each module, the function that turns one of its functions into a composite."""


def composite(name: str) -> Composite | None:
    """Return the composite of a row without a formula, or None if no module has a function of the row's name.

    A module may hold a composite under that name instead. The steps of ``certified_NAME``, if it exists, define what is
    certified, and those of ``NAME`` are the steps that engines use.
    """
    for module, wrapper in WRAPPERS.items():
        steps = getattr(module, name, None)
        if isinstance(steps, Composite):
            return steps
        if steps is not None:
            certified = getattr(module, f"certified_{name}", None)
            return wrapper(steps) if certified is None else Composite(certified, steps)
    return None
