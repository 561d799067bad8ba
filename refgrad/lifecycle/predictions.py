"""Predictions: what a step of a scenario must show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refgrad.scenario import Constant

ErrorKind = Literal[
    "freed-graph", "implicit-seed", "seed-shape", "no-graph", "modified-in-place", "leaf-in-place", "write-shape",
    "hook-on-constant", "retain-grad-on-constant", "requires-grad-of-non-leaf",
]  # fmt: skip

Scales = tuple[tuple[str, float], ...]
"""By what hooks multiply the cotangents of names on the way."""

Contribution = tuple[str, Constant | None] | tuple[str, Constant | None, Scales, str]
"""An output and its seed; where hooks or retained gradients matter also the scales, and the name that is looked at."""


@dataclass(frozen=True, slots=True)
class Succeeds:
    """The step must not fail."""


@dataclass(frozen=True, slots=True)
class Open:
    """Nothing is promised here, e.g. for gradients after a backward that failed half-way."""


@dataclass(frozen=True, slots=True)
class Fails:
    """The step must fail with an error of this kind, or of another that is due too; carrying on silently is a fault."""

    kind: ErrorKind
    others: tuple[ErrorKind, ...] = ()


@dataclass(frozen=True, slots=True)
class Value:
    """The step shows the value of ``name``: in the lowered scenario, that of ``version``, if it has one."""

    name: str
    version: str = ""

    @property
    def lowered(self) -> str:
        """The name that has this value in the lowered scenario."""
        return self.version or self.name


@dataclass(frozen=True, slots=True)
class Flag:
    """The step shows whether something is so."""

    holds: bool


@dataclass(frozen=True, slots=True)
class NoGradient:
    """The step shows that ``leaf`` has no gradient: none at all, or zeros where an engine has no notion of none."""

    leaf: str


@dataclass(frozen=True, slots=True)
class Gradient:
    """The step shows the sum over ``contributions`` (output, seed) of seed · ∂output/∂leaf, in the lowered scenario.

    Without contributions that is zeros. Unless it is ``certain`` that the outputs were recorded as depending on the
    leaf, none at all stands for zeros.
    """

    leaf: str
    contributions: tuple[Contribution, ...]
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """The step shows the gradients of ``tensor`` that ``hook`` saw, one for each of ``calls``, along a first axis."""

    hook: str
    tensor: str
    calls: tuple[Contribution, ...]


Prediction = Succeeds | Open | Fails | Value | Flag | NoGradient | Gradient | Seen
