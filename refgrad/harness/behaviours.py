"""Which normative statements are engines held to? The rows of ``specs/behaviours/*.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from refgrad.harness.verdict import Level
from refgrad.scenario import Scenario, ScenarioError, parse
from refgrad.specification import specs_directory


class BehaviourError(ValueError):
    """A behaviour is malformed; the message names the file, the behaviour and what is wrong."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A statement about engines, with the scenarios that test it."""

    id: str
    chapter: str
    level: Level
    statement: str
    rationale: str
    source: str
    scenarios: tuple[Scenario, ...]


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

    keys = {"level", "statement", "rationale", "source", "scenarios"}
    if set(row) != keys:
        odd = min(set(row) ^ keys)
        raise fault(f"{'lacks' if odd in keys else 'has the unknown key'} {odd!r}")
    if row["level"] not in get_args(Level):
        raise fault(f"has the level {row['level']!r}; there are {list(get_args(Level))}")
    if not row["scenarios"]:
        raise fault("has no scenario")
    try:
        scenarios = tuple(parse(text) for text in row["scenarios"])
    except ScenarioError as error:
        raise fault(f"a scenario is malformed: {error}") from error
    return Behaviour(
        f"{path.stem}/{name}", path.stem, row["level"], row["statement"], row["rationale"], row["source"], scenarios
    )
