"""Regressions: scenarios that some engine failed, by check. Every engine is tried on them, whatever the seed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from refgrad.documents import read_toml
from refgrad.errors import UserError
from refgrad.scenario import Scenario, ScenarioError, parse
from refgrad.specification import specs_directory

FOLDER: Final = "regressions"
"""Folder of ``specs/`` with a file for each chapter: by check, tables of a scenario and an engine that failed it."""


class RegressionError(UserError):
    """A file of regressions is malformed; the message names the file and the check."""


def regressions(check: str) -> tuple[Scenario, ...]:
    """Return the scenarios that some engine failed in a check. Raises RegressionError if one is malformed."""
    chapter, _, name = check.partition("/")
    rows = _chapter(chapter).get(name, ())
    return tuple(_scenario(check, row) for row in rows)


@cache
def _chapter(chapter: str) -> Mapping[str, Any]:
    path = specs_directory() / FOLDER / f"{chapter}.toml"
    return read_toml(path, "regressions", RegressionError) if path.exists() else {}


def _scenario(check: str, row: Mapping[str, str]) -> Scenario:
    try:
        return parse(row["scenario"])
    except ScenarioError as error:
        raise RegressionError(f"{FOLDER}/{check.partition('/')[0]}.toml: {check}: {error}") from error
