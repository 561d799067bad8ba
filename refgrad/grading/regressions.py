"""Scenarios in which some engine failed, by check: every engine meets them, whatever the seed of its run."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from refgrad.errors import UserError
from refgrad.scenario import Scenario, ScenarioError, parse
from refgrad.specification import specs_directory

FOLDER: Final = "regressions"
"""The folder of ``specs/`` with a file a chapter, which has for each check tables of a scenario and who failed it."""


class RegressionError(UserError):
    """A file of scenarios that failed is malformed; the message names the file and the check."""


def regressions(check: str) -> tuple[Scenario, ...]:
    """Return the scenarios in which some engine failed a check. Raises RegressionError."""
    chapter, _, name = check.partition("/")
    rows = _chapter(chapter).get(name, ())
    return tuple(_scenario(check, row) for row in rows)


@cache
def _chapter(chapter: str) -> Mapping[str, Any]:
    path = specs_directory() / FOLDER / f"{chapter}.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except tomllib.TOMLDecodeError as error:
        raise RegressionError(f"{FOLDER}/{path.name}: {error}") from error


def _scenario(check: str, row: Any) -> Scenario:
    place = f"{FOLDER}/{check.partition('/')[0]}.toml: {check}"
    if not isinstance(row, dict) or not isinstance(row.get("scenario"), str):
        raise RegressionError(f"{place}: each row is a table with a scenario")
    try:
        return parse(row["scenario"])
    except ScenarioError as error:
        raise RegressionError(f"{place}: {error}") from error
