"""A tape engine of one operator whose gradients do not look like their inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.native.adapter import TapeAdapter

Array = npt.NDArray[Any]


@dataclass(eq=False)
class Odd:
    """An array that can be squared."""

    array: Array
    source: Odd | None = None
    grad: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def squared(self) -> Odd:
        return Odd(self.array**2, self)

    def backward(self, seed: Array, kind: str) -> None:
        assert self.source is not None
        right = 2 * self.source.array * seed
        self.source.grad = right.ravel() if kind == "shape" else right.astype(np.float32)


WRONG_SHAPE = TapeAdapter(
    name="odd",
    setup="from tests.checking.odd_engine import Odd",
    leaf="Odd({array})",
    value="{x}.array",
    backward="{output}.backward({seed}, 'shape')",
    gradient="{leaf}.grad",
)
WRONG_DTYPE = replace(WRONG_SHAPE, backward="{output}.backward({seed}, 'dtype')")
