"""Measurements of what scenarios cannot show: time on large graphs, memory that is held, and recorded graphs.

A behaviour's row names the method of its measurement, with the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from refgrad.facts import Measured
from refgrad.grading.checks.settings import Settings
from refgrad.grading.measurements.exercises import exercises_script, measure_exercises
from refgrad.grading.measurements.introspection import measure_graphs
from refgrad.grading.measurements.programs import Reading
from refgrad.grading.measurements.release import measure_release, measure_weak_reference, release_script
from refgrad.grading.measurements.repetition import measure_repetition, repetition_script
from refgrad.grading.measurements.scale import measure_scale, scale_script
from refgrad.native.engine import Engine
from refgrad.native.library import EndingError, HangingError, RaisedError

__all__ = ["METHODS", "Measurement", "Reading", "script", "take_measurement"]


@dataclass(frozen=True, slots=True)
class Method:
    """A method of measurement: ``run`` measures an engine with the parameters of a row.

    ``script`` returns the program that it runs, which is reported if the engine's process ends meanwhile. It is empty
    for a method that runs scenarios.
    """

    run: Callable[[Engine, Mapping[str, Any], Settings], Reading]
    script: Callable[[Engine, Mapping[str, Any]], str] = lambda *_: ""


METHODS: Final[Mapping[str, Method]] = MappingProxyType({
    "exercises": Method(measure_exercises, exercises_script),
    "graph": Method(measure_graphs),
    "release": Method(measure_release, release_script),
    "weak_reference": Method(measure_weak_reference),
    "repetition": Method(measure_repetition, repetition_script),
    "scale": Method(measure_scale, scale_script),
})
"""Methods by the name that rows use."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The name of a method with its parameters. The schema of behaviours lists both."""

    name: str
    parameters: Mapping[str, Any]


def take_measurement(engine: Engine, measurement: Measurement, settings: Settings) -> Reading:
    """Take a measurement of an engine.

    Time and memory depend on what else the process has done: too much of either counts only if it is measured again in
    a new process, if one can be started. An exception is inconclusive, since checks of scenarios report it, unless the
    method reports it itself.
    """
    result = _taken(engine, measurement, settings)
    if isinstance(result.fact, Measured) and engine.runner.renew():
        return _taken(engine, measurement, settings)
    return result


def _taken(engine: Engine, measurement: Measurement, settings: Settings) -> Reading:
    try:
        return METHODS[measurement.name].run(engine, measurement.parameters, settings)
    except RaisedError as error:
        if "NotImplementedError" in error.raised.bases:
            return Reading("unsupported", f"raised {error}")
        return Reading("inconclusive", f"cannot be judged: raised {error}")
    except HangingError as error:
        return Reading("inconclusive", f"cannot be judged: {error} gives no answer", operators=(str(error),))
    except EndingError as error:
        return Reading(error.ending.outcome, error.ending.detail, script(engine, measurement))


def script(engine: Engine, measurement: Measurement) -> str:
    """Return the program that a measurement runs on an engine, empty if it runs scenarios."""
    return METHODS[measurement.name].script(engine, measurement.parameters)
