"""Forward mode and batches of cotangents, held against backward, which is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from refgrad.checking.libraries.numbers import Array
from refgrad.checking.modes.orders import only_checked, random_array
from refgrad.checking.pullbacks import Gradients, Pullback, Seeds, SideEffectError, refuse_other_value
from refgrad.checking.report import GradientReport, Text, unsupported
from refgrad.checking.subject import Subject
from refgrad.scenario.formats import FORMATS

BATCH = 3
"""So many cotangents are pulled back at once."""

SEEDS = 2
"""So many cotangents are held against a tangent."""


def forward_report(subject: Subject, choices: np.random.Generator, report: GradientReport) -> GradientReport:
    """Return the report, or that forward mode does not give what backward, which is right, gives."""
    modes = Modes(subject, choices)
    directions = [random_array(choices, array.shape) for array in subject.point]
    try:
        tangents = modes.tangents(directions)
    except SideEffectError:
        raise
    except Exception as error:  # noqa: BLE001 (rules of users and of engines raise what they like)
        return unsupported(subject.engine.adapter.name, f"forward mode is not there: {first_line(error)}", error)
    for k, tangent in zip(modes.wanted, tangents, strict=True):
        for _ in range(SEEDS):
            told = modes.apart(k, tangent, directions)
            if told:
                return replace(report, outcome="wrong", told=Text(told))
    return report


def batched_report(subject: Subject, choices: np.random.Generator, report: GradientReport) -> GradientReport:
    """Return the report, or that gradients under a batch of cotangents are not those under each of them."""
    modes = Modes(subject, choices)
    if not modes.wanted:
        return report
    batches = {k: [random_array(choices, modes.outputs[k].shape) for _ in range(BATCH)] for k in modes.wanted}
    try:
        found = modes.batched([np.stack(batch) for batch in batches.values()])
    except Exception as error:  # noqa: BLE001 (as above)
        told = f"batched gradients raised {type(error).__name__}: {first_line(error)}"
        return unsupported(subject.engine.adapter.name, told, error)
    for row in range(BATCH):
        gradients = modes.pullback.gradients(modes.seeds({k: batch[row] for k, batch in batches.items()}))
        for i, one, many in zip(subject.positions, gradients, found, strict=True):
            if not modes.same(one, None if many is None else many[row]):
                told = f"the gradient of input {subject.name_of(i)} is another one under a batch of cotangents"
                return replace(report, outcome="wrong", told=Text(told))
    return report


def first_line(error: Exception) -> str:
    """Return what an exception says, without what PyTorch adds to that."""
    return str(error).partition("\n")[0]


class Modes:
    """A function that was run once, and its outputs that can be differentiated."""

    def __init__(self, subject: Subject, choices: np.random.Generator) -> None:
        """Take a function at its point."""
        self.subject = subject
        self.library = subject.library
        self.choices = choices

    @cached_property
    def pullback(self) -> Pullback:
        """The function, run forward."""
        return self.subject.pullback(self.subject.point)

    @property
    def outputs(self) -> Sequence[Array]:
        """Its outputs."""
        return self.pullback.outputs

    @cached_property
    def wanted(self) -> list[int]:
        """Which of them can be run backward."""
        return [k for k, active in enumerate(self.pullback.active) if active]

    def seeds(self, arrays: dict[int, Array]) -> Seeds:
        """Return cotangents for some outputs, none for the others."""
        return tuple(arrays[k].astype(o.dtype) if k in arrays else None for k, o in enumerate(self.outputs))

    def tangents(self, directions: Sequence[Array]) -> list[Array]:
        """Return what forward mode makes of directions; zeros where that is nothing."""
        wanted, subject = self.wanted, self.subject
        primals = subject.arguments(subject.point)
        checked = [primals[i] for i in subject.positions]
        kinds = [subject.inputs[i].kind for i in subject.positions]
        pushed = [self.library.seed(d, kind) for d, kind in zip(directions, kinds, strict=True)]
        values, found = self.library.jvp(only_checked(subject, wanted), checked, pushed)
        for k, value in zip(wanted, values, strict=True):
            refuse_other_value(self.outputs[k], self.library.read(value), k, self.pullback.precision)
        return [
            np.zeros(self.outputs[k].shape) if tangent is None else self.library.read(tangent)
            for k, tangent in zip(wanted, found, strict=True)
        ]

    def apart(self, output: int, tangent: Array, directions: Sequence[Array]) -> str:
        """Return by how much a tangent and the gradients under a random cotangent differ, if that is too much."""
        seed = random_array(self.choices, self.outputs[output].shape)
        gradients = self.pullback.gradients(self.seeds({output: seed}))
        pairs = zip(gradients, directions, strict=True)
        terms = np.concatenate([np.zeros(0), *((g * d).ravel() for g, d in pairs if g is not None)])
        pulled, size = float(np.sum(terms)), float(np.sum(np.abs(terms)))
        forward = float(np.sum(tangent * seed))
        if abs(forward - pulled) <= self.digits * (size + abs(forward)):
            return ""
        return (
            f"forward mode is wrong: output {output}, weighted by a seed, changes by {forward:.10g} along a "
            f"direction, where backward, which is right, says {pulled:.10g}"
        )

    def batched(self, batches: Sequence[Array]) -> Gradients:
        """Return the gradients under batches of cotangents, one for each output that can be run backward."""
        pullback = self.pullback
        seeds = [self.library.seed(b, pullback.kinds[k]) for k, b in zip(self.wanted, batches, strict=True)]
        found = self.library.batched_gradients([pullback.tensors[k] for k in self.wanted], pullback.leaves, seeds)
        return tuple(None if each is None else self.library.read_gradient(each) for each in found)

    def same(self, one: Array | None, other: Array | None) -> bool:
        """Whether two gradients are the same to half of the digits; none at all is as good as zeros."""
        if one is None or other is None:
            return not any(each is not None and each.any() for each in (one, other))
        allowed = self.digits * float(np.max(np.abs(one), initial=0.0))
        return other.shape == one.shape and bool(np.all(np.abs(other - one) <= allowed))

    @property
    def digits(self) -> float:
        """How far two ways to compute the same number may differ: by the lower half of a format's digits."""
        return 2.0 ** -(FORMATS[self.pullback.precision].bits // 2)
