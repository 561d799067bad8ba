"""Behaviours, the normative statements that engines are held to: the rows of ``specs/behaviours/*.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, get_args

from refgrad.grading.judging.verdict import Level
from refgrad.grading.measurements import Measurement
from refgrad.scenario import Scenario, ScenarioError, parse
from refgrad.specification import specs_directory

TOLD: Final = frozenset({"level", "statement", "rationale", "source"})
"""What every row says; the rest of it is what tests it."""


class BehaviourError(ValueError):
    """A behaviour is malformed; the message names the file, the behaviour and what is wrong."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A statement about engines, with the scenarios that test it, or a measurement of what no scenario can show."""

    id: str
    chapter: str
    level: Level
    statement: str
    rationale: str
    source: str
    scenarios: tuple[Scenario, ...] = ()
    measurement: Measurement | None = None

    @property
    def tested_by(self) -> str:
        """How many scenarios test it, or which measurement, with those of its parameters that are words."""
        if self.measurement is None:
            return f"{len(self.scenarios)} scenario{'s' * (len(self.scenarios) > 1)}"
        words = [word for word in self.measurement.parameters.values() if isinstance(word, str)]
        return f"measurement {' '.join([self.measurement.name, *words])}"


@cache
def all_behaviours() -> tuple[Behaviour, ...]:
    """Return the behaviours in the order of the files. Raises BehaviourError where a row is malformed."""
    return tuple(b for path in sorted((specs_directory() / "behaviours").glob("*.toml")) for b in read_behaviours(path))


def read_behaviours(path: Path) -> list[Behaviour]:
    """Read one chapter; the file's name is the chapter's."""
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        message = f"{path.name}: {error}"
        raise BehaviourError(message) from error
    return [_behaviour(path, name, row) for name, row in rows.items()]


def _behaviour(path: Path, name: str, row: Mapping[str, Any]) -> Behaviour:
    def fault(problem: str) -> BehaviourError:
        return BehaviourError(f"{path.name}: behaviour {name!r}: {problem}")

    if lacking := TOLD - set(row):
        raise fault(f"lacks {min(lacking)!r}")
    if row["level"] not in get_args(Level):
        raise fault(f"has the level {row['level']!r}; there are {list(get_args(Level))}")
    try:
        scenarios, measurement = _tested({key: value for key, value in row.items() if key not in TOLD})
    except ScenarioError as error:
        raise fault(f"a scenario is malformed: {error}") from error
    except ValueError as error:
        raise fault(str(error)) from error
    told = (row["level"], row["statement"], row["rationale"], row["source"])
    return Behaviour(f"{path.stem}/{name}", path.stem, *told, scenarios, measurement)


def _tested(rest: Mapping[str, Any]) -> tuple[tuple[Scenario, ...], Measurement | None]:
    """Return what tests a behaviour: scenarios, or a measurement with its parameters.

    Raises ScenarioError for a malformed scenario, and ValueError for anything else that is odd.
    """
    if ("probe" in rest) == ("scenarios" in rest):
        raise ValueError("must have 'scenarios' or a 'probe', and not both")
    if "probe" in rest:
        return (), Measurement(rest["probe"], {key: value for key, value in rest.items() if key != "probe"})
    if odd := set(rest) - {"scenarios"}:
        raise ValueError(f"has the unknown key {min(odd)!r}")
    if not rest["scenarios"]:
        raise ValueError("has no scenario")
    return tuple(parse(text) for text in rest["scenarios"]), None
