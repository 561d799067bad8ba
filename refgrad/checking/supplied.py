"""Gradients that are supplied as a function, and functions that are compared with a slow implementation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from refgrad.checking.certified import CertifiedJudge
from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.libraries.trees import NEARBY_TOLERANCE, Array, Arrays, near, numeric
from refgrad.checking.subject import CheckedFunction, Gradients, Pullback, Seeds, Watching, unwatched
from refgrad.native.adapter import FunctionalAdapter
from refgrad.native.engine import Engine, start
from refgrad.oracles import judge

GradientFunction = Callable[..., Any]
"""Function that takes the cotangent, or a tuple of several, and the inputs, and returns the gradient or several."""


@cache
def numpy_engine() -> Engine:
    """Return an engine for functions of NumPy arrays, which has no gradients of its own."""
    vjp = "(_ for _ in ()).throw(NotImplementedError({function}, {primals}))"
    return start(FunctionalAdapter(name="numpy", setup="import numpy as np", leaf="{array}", vjp=vjp))


class FunctionWithGradient(CheckedFunction):
    """A function under test whose gradient is another function."""

    def __init__(
        self, engine: Engine, function: Callable[..., Any], inputs: Sequence[Any], gradient: GradientFunction
    ) -> None:
        """Copy the inputs."""
        super().__init__(engine, function, inputs)
        self.gradient = gradient

    def pullback(self, point: Arrays, watching: Watching = unwatched) -> Pullback:
        """Run the function forward, and return the pullback that calls the supplied gradient."""
        return SuppliedPullback(self, point, watching)


class SuppliedPullback(Pullback):
    """Pullback by a function of cotangents and inputs."""

    runs_by_itself = True

    def record(self) -> None:
        """Run the function forward on inputs that require no gradient."""
        library, kinds = self.library, dict(zip(self.subject.positions, self.subject.kinds, strict=True))
        self.arguments = self.subject.arguments(
            self.point, lambda i, array: library.make(array, kinds[i], requires_grad=False)
        )
        self.leaves = [self.arguments[i] for i in self.subject.positions]
        with self.watching(self.leaves):
            self.tensors = self.subject.call(self.arguments)
        self.refuse_writes("the function")

    def gradients(self, seeds: Seeds) -> Gradients:
        """Return what the supplied gradient returns; the cotangent of an output without a seed is zeros."""
        assert isinstance(self.subject, FunctionWithGradient)
        arrays = [np.zeros_like(o) if seed is None else seed for o, seed in zip(self.outputs, seeds, strict=True)]
        cotangents = [self.library.seed(a, kind) for a, kind in zip(arrays, self.kinds, strict=True)]
        cotangent = cotangents[0] if len(cotangents) == 1 else tuple(cotangents)
        with self.backward_from(0):
            results = self.subject.gradient(cotangent, *self.subject.tree.build(self.arguments))
        for k, (tensor, array) in enumerate(zip(cotangents, arrays, strict=True)):
            self.refuse_written_seed(tensor, array, k)
        self.refuse_writes("the gradient")
        return tuple(None if each is None else self.library.read_gradient(each) for each in self.chosen(results))

    def chosen(self, results: Any) -> Sequence[Any]:
        """Return the gradients of the checked inputs, from a sequence of these or of the gradients of all inputs."""
        count = len(self.leaves)
        gradients = list(results) if isinstance(results, tuple | list) else [results]
        if len(gradients) == len(self.arguments):
            return [gradients[i] for i in self.subject.positions]
        if len(gradients) != count:
            raise SubjectError(f"the gradient has {len(gradients)} parts, but there are {count} inputs", backward=True)
        return gradients


def reference_of(subject: CheckedFunction, slow: Callable[..., Any], inputs: Sequence[Any]) -> CheckedFunction:
    """Return the slow implementation at the point of a function. Raises UnsupportedError if it has other inputs."""
    reference = CheckedFunction(subject.engine, slow, inputs)
    if reference.positions != subject.positions:
        raise UnsupportedError("the reference has other inputs to differentiate by than the function")
    return reference


def unlike_reference(outputs: Arrays, reference: Arrays, truth: Any, precision: str) -> str:
    """Return how an output differs from that of the slow implementation by more than rounding, or an empty string."""
    if len(outputs) != len(reference):
        return f"the function returns {len(outputs)} tensors, but the reference {len(reference)}"
    names = truth.trace.outputs if isinstance(truth, CertifiedJudge) else [None] * len(outputs)
    for k, (output, slow, name) in enumerate(zip(outputs, reference, names, strict=True)):
        if output.shape != slow.shape:
            return f"output {k} has the shape {output.shape}, but that of the reference {slow.shape}"
        if name is not None and not truth.trace.large:
            same = judge(output, truth.oracle.value(name)).outcome in {"passed", "inconclusive"}
        else:
            same = near(slow, output, NEARBY_TOLERANCE[precision])
        if not same:
            index = _furthest(output, slow)
            entry = f", entry {index}" * bool(index)
            return f"output {k}{entry} is {float(output[index])!r}, but {float(slow[index])!r} in the reference"
    return ""


def _furthest(output: Array, slow: Array) -> tuple[int, ...]:
    differences = np.nan_to_num(np.abs(numeric(output) - numeric(slow)), nan=np.inf)
    return tuple(map(int, np.unravel_index(int(np.argmax(differences)), output.shape)))
