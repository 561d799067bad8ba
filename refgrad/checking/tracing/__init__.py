"""Traces: users' functions as scenarios, and the comparison of a trace with its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.checking.libraries import SubjectError
from refgrad.checking.libraries.trees import NEARBY_TOLERANCE, Arrays, near, numeric
from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing import jax_program, numpy_array, torch_dispatch
from refgrad.checking.tracing.recorder import Applied, Array, RecordedLeaf, Recorder, Untraceable, values_elsewhere
from refgrad.interpreter import Noted
from refgrad.oracles import CertifiedOracle, judge
from refgrad.oracles.screening import Duals
from refgrad.scenario.formats import FORMATS, least_precise

__all__ = ["Trace", "Untraceable", "trace"]

CLOSE_ULPS = 4.0
"""Largest difference in units in the last place that needs no certified comparison."""

NEARBY = 2.0**-20
"""Relative distance of the second point at which the function and its trace are compared."""

LARGEST_CERTIFIED = 100_000
"""Largest number of scalar operations of a function that is certified entry by entry. Larger ones are screened."""

TRACERS: Mapping[str, Callable[[CheckedFunction, Recorder], tuple[str, ...]]] = MappingProxyType({
    "torch": torch_dispatch.trace,
    "jax": jax_program.trace,
    "autograd": numpy_array.trace,
    "refgrad": numpy_array.trace,
    "numpy": numpy_array.trace,
})
"""Functions that trace functions of an engine. Those of other engines are judged by differences."""


class Trace(Recorder):
    """A function at a point as a scenario, with the names of its outputs and its precision, once it is recorded."""

    outputs: tuple[str, ...]
    dtype: str

    @cached_property
    def oracle(self) -> CertifiedOracle:
        """The certified oracle. It is created only if a gradient does not pass the screen."""
        return CertifiedOracle(self.scenario, self.dtype)

    @property
    def large(self) -> bool:
        """Return True if certifying the function entry by entry would take too long."""
        return self.work > LARGEST_CERTIFIED

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shapes of the checked inputs."""
        return {name: self.values[name].shape for name in self.inputs}

    def has_value(self, name: str, output: Array) -> bool:
        """Return True if rounding explains how an output differs from its trace."""
        if self.large:
            return near(output, self.values[name], NEARBY_TOLERANCE[self.dtype])
        return judge(output, self.oracle.value(name)).outcome in {"passed", "inconclusive"}

    @cached_property
    def operations(self) -> int:
        """Number of operators that are applied, counting the steps of composites."""
        applied = [step.inner for step in self.steps if isinstance(step, Applied)]
        return sum(
            1 if inner is None else sum(entry.operator is not None for entry in inner.entries) for inner in applied
        )

    def evaluated(self, system: Duals) -> Mapping[str, Any]:
        """Return the value of every name."""
        values: dict[str, Any] = {}
        for step in self.steps:
            if isinstance(step, RecordedLeaf):
                values[step.name] = system.dual(step.name, step.array)
                continue
            arguments = [values[name] for name in step.arguments]
            if step.inner is not None:
                values[step.name] = _result(step.inner, system, arguments)
            else:
                values[step.name] = system.apply(step.operator, arguments, step.attributes)
        return values


def _result(composite: Noted, system: Duals, arguments: Sequence[Any]) -> Any:
    """Return the value of a composite operator by its steps."""
    values = dict(zip(map(id, composite.inputs), arguments, strict=True))
    for entry in composite.entries:
        if entry.operator is None:
            values[id(entry)] = system.constant(entry.unrounded)
        else:
            operands = [values[id(operand)] for operand in entry.operands]
            values[id(entry)] = system.apply(entry.operator, operands, entry.attributes)
    return values[id(composite.result)]


def trace(subject: CheckedFunction, outputs: Arrays, precision: str = "", record: Trace | None = None) -> Trace:
    """Return a function as a scenario. ``outputs`` are the values that the function returns at the point.

    ``precision`` is the coarsest dtype that the function computes in, if that is known. The trace is stored in
    ``record``, which holds the steps up to an error if one is raised.

    Raise Untraceable with the reason if a call has no row, or if the scenario does not give the function's values
    there and nearby.
    """
    if any(kind.is_complex for kind in subject.kinds):
        raise Untraceable("it takes complex numbers")
    engine = subject.engine.adapter.name
    if engine not in TRACERS:
        raise Untraceable(f"functions of {engine} cannot be watched")
    record = record or Trace()
    try:
        with np.errstate(all="ignore"):
            record.outputs = TRACERS[engine](subject, record)
    except SubjectError as error:
        cause = error.__cause__
        raise Untraceable(str(cause) if isinstance(cause, Untraceable) else str(error)) from error
    except (TypeError, ValueError, RuntimeError) as error:
        raise Untraceable(f"it gives values that cannot be read: {error}") from error
    known = [precision] if precision else [*(kind.part for kind in subject.kinds), *(a.dtype.name for a in outputs)]
    record.dtype = least_precise([*known, *record.dtypes])
    _verify_here(record, outputs)
    if not record.sealed:
        _verify_nearby(record, subject)
    return record


def _verify_here(record: Trace, outputs: Arrays) -> None:
    unit = FORMATS[record.dtype].unit
    for k, (name, output) in enumerate(zip(record.outputs, outputs, strict=True)):
        output, value = numeric(output), numeric(record.values[name])  # noqa: PLW2901 (as numbers)
        if value.shape != output.shape:
            raise Untraceable(f"output {k} has the shape {output.shape}, its trace {value.shape}")
        if output.tobytes() == value.tobytes():
            continue
        with np.errstate(all="ignore"):
            close = bool((np.abs(output - value) <= CLOSE_ULPS * unit * np.abs(value)).all())
        if not (close or record.has_value(name, output)):
            raise Untraceable(f"output {k} is not what its trace gives")


def _verify_nearby(record: Trace, subject: CheckedFunction) -> None:
    """Compare at another point too, where a value that was recorded as a constant by mistake is another one."""
    moved = tuple(_moved(array) for array in subject.point)
    values = values_elsewhere(record.steps, dict(zip(record.inputs, moved, strict=True)))
    for k, (name, output) in enumerate(zip(record.outputs, subject.values(moved), strict=True)):
        if output.shape != values[name].shape or not near(output, values[name], NEARBY_TOLERANCE[record.dtype]):
            raise Untraceable(f"output {k} is not what its trace gives at a point nearby")


def _moved(array: Array) -> Array:
    signs = np.where(np.arange(array.size) % 3 == 0, -1.0, 1.0).reshape(array.shape)
    return (array + signs * NEARBY * np.maximum(np.abs(array), 0.5)).astype(array.dtype)
