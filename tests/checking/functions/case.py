"""A function as somebody wrote it, with inputs, and whether its gradient is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One function of a library; ``fault`` says what is wrong with its gradient, nothing where it is right.

    ``inputs`` makes them anew, so that no run sees what another one left. ``options`` are those of ``check_gradients``.
    """

    name: str
    function: Function
    inputs: Callable[[], tuple[Any, ...]]
    fault: str = ""
    library: str = "torch"
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def right(self) -> bool:
        """Whether the gradient is the derivative."""
        return not self.fault


def numbers(*shape: int, seed: int = 0, low: float = 0.4, high: float = 1.6) -> Any:
    """Return numbers of float64 from an interval."""
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape)


def signed(*shape: int, seed: int = 0) -> Any:
    """Return normal numbers, none of which is nearer to 0 than a twentieth."""
    drawn = np.random.default_rng([seed, *shape]).normal(size=shape)
    return np.where(np.abs(drawn) < 0.05, 0.3, drawn)
