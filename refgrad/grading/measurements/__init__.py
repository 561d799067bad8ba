"""Measurements of what scenarios cannot show: time on large graphs, memory that is held, and recorded graphs.

A behaviour's row names the method of its measurement, with the parameters. Most methods run one of the programs in
`programs.toml`, which a parameter names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from refgrad.facts import Measured
from refgrad.grading.judging.verdict import OUTCOMES
from refgrad.grading.measurements.exercises import EXERCISES
from refgrad.grading.measurements.introspection import measure_graphs
from refgrad.grading.measurements.memory import RELEASES, REPETITIONS, measure_weak_reference
from refgrad.grading.measurements.programs import MeasuredProgram, Reading, unsupported
from refgrad.grading.measurements.scale import LARGE_GRAPHS
from refgrad.grading.settings import Settings
from refgrad.native.engine import Engine
from refgrad.native.library import HangingError, Library, RaisedError
from refgrad.native.process import EndingError

__all__ = ["METHODS", "Measurement", "Reading", "script", "take_measurement"]

Method: TypeAlias = Callable[[Engine, Mapping[str, Any], Settings], Reading]

PROGRAMS: Final[Mapping[str, tuple[str, Mapping[str, MeasuredProgram]]]] = MappingProxyType({
    "exercises": ("cases", EXERCISES),
    "release": ("after", RELEASES),
    "repetition": ("case", REPETITIONS),
    "scale": ("graph", LARGE_GRAPHS),
})
"""Programs of each method by name, and the parameter that names one or several of them."""


def measure_programs(method: str, engine: Engine, parameters: Mapping[str, Any], settings: Settings) -> Reading:
    """Run the programs of a row, and return the worst result, without unsupported programs."""
    library = Library(engine)
    results = [
        unsupported(lacking) if (lacking := each.lacking(library)) else each.measured(library, parameters, settings)
        for each in _named(method, parameters)
    ]
    tried = [each for each in results if each.outcome != "unsupported"]
    worst = min(tried or results, key=lambda each: OUTCOMES.index(each.outcome))
    return worst if len(results) == 1 else replace(worst, examples=max(1, len(tried)))


def _named(method: str, parameters: Mapping[str, Any]) -> list[MeasuredProgram]:
    """Return the programs that the parameters of a method name."""
    parameter, programs = PROGRAMS[method]
    names = parameters[parameter]
    return [programs[name] for name in ([names] if isinstance(names, str) else names)]


METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {name: partial(measure_programs, name) for name in PROGRAMS}
    | {"graph": measure_graphs, "weak_reference": measure_weak_reference}
)
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
        return METHODS[measurement.name](engine, measurement.parameters, settings)
    except RaisedError as error:
        if "NotImplementedError" in error.raised.bases:
            return Reading("unsupported", f"raised {error}")
        return Reading("inconclusive", f"cannot be judged: raised {error}")
    except HangingError as error:
        return Reading("inconclusive", f"cannot be judged: {error} gives no answer", operators=(str(error),))
    except EndingError as error:
        return Reading(error.ending.outcome, error.ending.detail, script(engine, measurement))


def script(engine: Engine, measurement: Measurement) -> str:
    """Return the first program of a measurement that an engine can run, empty if there is none."""
    library, parameters = Library(engine), measurement.parameters
    named = _named(measurement.name, parameters) if measurement.name in PROGRAMS else []
    return next((each.script(library, parameters) for each in named if not each.lacking(library)), "")
