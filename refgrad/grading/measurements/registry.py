"""Which probes are there, and which parameters does a behaviour's row give them?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from refgrad.grading.checks.settings import Settings
from refgrad.grading.measurements.introspection import check_graphs, probe_graphs
from refgrad.grading.measurements.release import (
    check_nothing,
    check_release,
    probe_release,
    probe_weak_reference,
    release_script,
)
from refgrad.grading.measurements.repetition import check_repetition, probe_repetition, repetition_script
from refgrad.grading.measurements.scale import check_scale, probe_scale, scale_script
from refgrad.grading.measurements.shown import Shown
from refgrad.native.engine import Engine
from refgrad.native.library import EndingError, RaisedError


class ProbingError(ValueError):
    """A row names no probe that there is, or gives it parameters that it does not understand."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A way to look at an engine: ``run`` it with a row's ``parameters``, which ``check`` has found to be right.

    ``check`` raises ValueError, in words that continue those of the row's name. ``script`` gives the program that it
    runs, for an engine that takes its process down on the way; where it runs scenarios, they are what is shown.
    """

    parameters: frozenset[str]
    check: Callable[[Mapping[str, Any]], None]
    run: Callable[[Engine, Mapping[str, Any], Settings], Shown]
    script: Callable[[Engine, Mapping[str, Any]], str]


def _probe(
    parameters: str,
    check: Callable[[Mapping[str, Any]], None],
    run: Callable[[Engine, Mapping[str, Any], Settings], Shown],
    script: Callable[[Engine, Mapping[str, Any]], str] = lambda *_: "",
) -> Probe:
    return Probe(frozenset(parameters.split()), check, run, script)


PROBES: Final[Mapping[str, Probe]] = MappingProxyType({
    "graph": _probe("graphs claim random", check_graphs, probe_graphs),
    "release": _probe("after", check_release, probe_release, release_script),
    "weak_reference": _probe("", check_nothing, probe_weak_reference),
    "repetition": _probe("case iterations smoke", check_repetition, probe_repetition, repetition_script),
    "scale": _probe("graph sizes smoke", check_scale, probe_scale, scale_script),
})
"""By the name that a row calls them by."""


@dataclass(frozen=True, slots=True)
class Probing:
    """A probe with its parameters. Raises ProbingError where there is no such probe, or they are not its own."""

    name: str
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Refuse what could not be run."""
        if self.name not in PROBES:
            raise ProbingError(f"there is no probe {self.name!r}; there are {sorted(PROBES)}")
        known = PROBES[self.name].parameters
        if odd := set(self.parameters) ^ known:
            name = min(odd)
            raise ProbingError(f"{'lacks' if name in known else 'has the unknown key'} {name!r}")
        try:
            PROBES[self.name].check(self.parameters)
        except ValueError as error:
            raise ProbingError(str(error)) from error


def probe(engine: Engine, probing: Probing, settings: Settings) -> Shown:
    """Run a probe on an engine.

    An error in what scenarios do, too, is theirs to tell.
    """
    try:
        return PROBES[probing.name].run(engine, probing.parameters, settings)
    except RaisedError as error:
        if "NotImplementedError" in error.bases:
            return Shown("unsupported", f"raised {error}")
        return Shown("inconclusive", f"cannot be judged: raised {error}")
    except EndingError as error:
        return Shown(error.ending.outcome, error.ending.detail, script(engine, probing))


def script(engine: Engine, probing: Probing) -> str:
    """Return the program that a probe runs on an engine, empty if it runs scenarios."""
    return PROBES[probing.name].script(engine, probing.parameters)
