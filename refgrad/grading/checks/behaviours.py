"""Behaviours, the normative statements about engines: the rows of ``specs/behaviours/*.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from refgrad.documents import read_toml
from refgrad.errors import UserError
from refgrad.grading.judging.verdict import Level
from refgrad.grading.measurements import Measurement
from refgrad.scenario import Scenario, ScenarioError, parse
from refgrad.specification import specs_directory


class BehaviourError(UserError):
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
        """Number of its scenarios, or name of its measurement with those of its parameters that are strings."""
        if self.measurement is None:
            return f"{len(self.scenarios)} scenario{'s' * (len(self.scenarios) > 1)}"
        words = [word for word in self.measurement.parameters.values() if isinstance(word, str)]
        return f"measurement {' '.join([self.measurement.name, *words])}"


@cache
def all_behaviours() -> tuple[Behaviour, ...]:
    """Return the behaviours in the order of the files. Raises BehaviourError if a row is malformed."""
    return tuple(b for path in sorted((specs_directory() / "behaviours").glob("*.toml")) for b in read_behaviours(path))


def read_behaviours(path: Path) -> list[Behaviour]:
    """Return the behaviours of one chapter, which has the name of the file."""
    return [_behaviour(path, name, row) for name, row in read_toml(path, "behaviours", BehaviourError).items()]


def _behaviour(path: Path, name: str, row: Mapping[str, Any]) -> Behaviour:
    parameters = dict(row)
    stated = {key: parameters.pop(key) for key in ("level", "statement", "rationale", "source")}
    try:
        scenarios = tuple(map(parse, parameters.pop("scenarios", ())))
        for graph in row.get("graphs", ()):
            parse(graph)
    except ScenarioError as error:
        raise BehaviourError(f"{path}: {name}: a scenario is malformed: {error}") from error
    measurement = Measurement(parameters.pop("probe"), parameters) if "probe" in row else None
    return Behaviour(f"{path.stem}/{name}", path.stem, **stated, scenarios=scenarios, measurement=measurement)
