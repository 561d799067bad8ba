"""The table of measurements, and the parameters that a behaviour's row gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from refgrad.grading.checks.settings import Settings
from refgrad.grading.judging.evidence import Measured
from refgrad.grading.measurements.exercises.measuring import (
    check_exercises,
    exercises_script,
    measure_exercises,
)
from refgrad.grading.measurements.introspection import check_graphs, measure_graphs
from refgrad.grading.measurements.release import (
    check_nothing,
    check_release,
    measure_release,
    measure_weak_reference,
    release_script,
)
from refgrad.grading.measurements.repetition import check_repetition, measure_repetition, repetition_script
from refgrad.grading.measurements.scale import check_scale, measure_scale, scale_script
from refgrad.grading.measurements.shown import Shown
from refgrad.native.engine import Engine
from refgrad.native.library import EndingError, HangingError, RaisedError


class MeasurementError(ValueError):
    """A row names no measurement that there is, or gives it parameters that it does not understand."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to measure an engine: ``run`` it with a row's ``parameters``, which ``check`` has found to be right.

    ``check`` raises ValueError, in words that continue those of the row's name. ``script`` gives the program that it
    runs, for an engine that takes its process down on the way; where it runs scenarios, they are what is shown.
    """

    parameters: frozenset[str]
    check: Callable[[Mapping[str, Any]], None]
    run: Callable[[Engine, Mapping[str, Any], Settings], Shown]
    script: Callable[[Engine, Mapping[str, Any]], str]


def _method(
    parameters: str,
    check: Callable[[Mapping[str, Any]], None],
    run: Callable[[Engine, Mapping[str, Any], Settings], Shown],
    script: Callable[[Engine, Mapping[str, Any]], str] = lambda *_: "",
) -> Method:
    return Method(frozenset(parameters.split()), check, run, script)


METHODS: Final[Mapping[str, Method]] = MappingProxyType({
    "exercises": _method("cases", check_exercises, measure_exercises, exercises_script),
    "graph": _method("graphs claim random", check_graphs, measure_graphs),
    "release": _method("after", check_release, measure_release, release_script),
    "weak_reference": _method("", check_nothing, measure_weak_reference),
    "repetition": _method("case iterations smoke", check_repetition, measure_repetition, repetition_script),
    "scale": _method("graph sizes smoke", check_scale, measure_scale, scale_script),
})
"""By the name that a row calls them by."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A method with its parameters. Raises MeasurementError where there is no such method, or they are not its own."""

    name: str
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Refuse what could not be run."""
        if self.name not in METHODS:
            raise MeasurementError(f"there is no probe {self.name!r}; there are {sorted(METHODS)}")
        known = METHODS[self.name].parameters
        if odd := set(self.parameters) ^ known:
            name = min(odd)
            raise MeasurementError(f"{'lacks' if name in known else 'has the unknown key'} {name!r}")
        try:
            METHODS[self.name].check(self.parameters)
        except ValueError as error:
            raise MeasurementError(str(error)) from error


def take_measurement(engine: Engine, measurement: Measurement, settings: Settings) -> Shown:
    """Take a measurement of an engine.

    Time and memory depend on what else the process has done: too much of them counts if it is measured again in another
    process, where there is one. An error in what scenarios do, too, is theirs to tell.
    """
    shown = _taken(engine, measurement, settings)
    if isinstance(shown.fact, Measured) and engine.runner.renew():
        return _taken(engine, measurement, settings)
    return shown


def _taken(engine: Engine, measurement: Measurement, settings: Settings) -> Shown:
    try:
        return METHODS[measurement.name].run(engine, measurement.parameters, settings)
    except RaisedError as error:
        if "NotImplementedError" in error.bases:
            return Shown("unsupported", f"raised {error}")
        return Shown("inconclusive", f"cannot be judged: raised {error}")
    except HangingError as error:
        return Shown("inconclusive", f"cannot be judged: {error} gives no answer", operators=(str(error),))
    except EndingError as error:
        return Shown(error.ending.outcome, error.ending.detail, script(engine, measurement))


def script(engine: Engine, measurement: Measurement) -> str:
    """Return the program that a measurement runs on an engine, empty if it runs scenarios."""
    return METHODS[measurement.name].script(engine, measurement.parameters)
