"""What engines may choose, what each step must show, and what a scenario requires of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refgrad.scenario import Constant

ErrorKind = Literal[
    "freed-graph", "implicit-seed", "seed-shape", "no-graph", "modified-in-place", "leaf-in-place", "write-shape",
    "hook-on-constant", "retain-grad-on-constant", "requires-grad-of-non-leaf",
]  # fmt: skip

Scales = tuple[tuple[str, float], ...]
"""Names, with the factors by which hooks multiply their cotangents."""

Contribution = tuple[str, Constant | None] | tuple[str, Constant | None, Scales, str]
"""An output and its seed; where hooks or retained gradients matter, also the scales and the name of the cotangent."""


@dataclass(frozen=True, slots=True)
class Succeeds:
    """The step must not fail."""


@dataclass(frozen=True, slots=True)
class Open:
    """Nothing is predicted for the step, e.g. for gradients after a backward that failed half-way."""


@dataclass(frozen=True, slots=True)
class Fails:
    """The step must fail with an error of this kind or of one of ``others``.

    Success without an error is a failure.
    """

    kind: ErrorKind
    others: tuple[ErrorKind, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedValue:
    """The step shows the value of ``name``, which in the lowered scenario is that of ``version`` if it has one."""

    name: str
    version: str = ""

    @property
    def lowered(self) -> str:
        """Name that has this value in the lowered scenario."""
        return self.version or self.name


@dataclass(frozen=True, slots=True)
class ExpectedFlag:
    """The step shows a flag with this value."""

    holds: bool


@dataclass(frozen=True, slots=True)
class NoGradient:
    """The step shows that ``leaf`` has no gradient, or zeros if the engine cannot express that there is none."""

    leaf: str


@dataclass(frozen=True, slots=True)
class Gradient:
    """The step shows the sum over ``contributions`` (output, seed) of seed · ∂output/∂leaf, in the lowered scenario.

    The sum of no contributions is zeros. ``certain`` is True if every engine must have recorded that the outputs depend
    on the leaf. If it is False, no gradient is accepted in place of zeros.
    """

    leaf: str
    contributions: tuple[Contribution, ...]
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """The step shows the gradients of ``tensor`` that ``hook`` received: one for each of ``calls``, on a first axis."""

    hook: str
    tensor: str
    calls: tuple[Contribution, ...]


Prediction = Succeeds | Open | Fails | ExpectedValue | ExpectedFlag | NoGradient | Gradient | Seen


@dataclass(frozen=True, slots=True)
class Policy:
    """The behaviour of an engine in the lifecycle of its graphs.

    ``frees`` is what a backward without retain_graph frees: the ``saved`` buffers of visited nodes, ``never`` anything,
    ``always`` every visited node (a second backward from the same output is then not specified), or all that is
    ``connected``, which includes what was computed from visited leaves.

    ``implicit_seed`` is the meaning of a backward from a non-scalar without a seed: an ``error``, or a seed of
    ``ones``.

    ``unrecorded_views`` is the status of a result that was not recorded and may share memory with an operand: a
    ``constant`` like other results, or not specified (``open``) while that memory is one that requires grad.

    ``keeps`` is the set of tensors that keep their gradients: only the ``leaves``, and others on request, or ``all``
    tensors. With ``all`` the gradients of views, and of tensors that need none, are not specified. With ``open`` only
    the gradients of leaves that require grad are specified: equal expressions may be one tensor, with one gradient.

    ``accumulates`` is what a backward does to gradients: it ``adds`` to them, ``overwrites`` those of the tensors that
    it reaches, or ``replaces`` them; then a tensor also loses its own as soon as a recorded operation uses it.
    """

    frees: Literal["saved", "never", "always", "connected"] = "saved"
    implicit_seed: Literal["error", "ones"] = "error"
    unrecorded_views: Literal["constant", "open"] = "constant"
    keeps: Literal["leaves", "all", "open"] = "leaves"
    accumulates: Literal["adds", "overwrites", "replaces"] = "adds"
