"""The defaults of grading that a project gives in the table ``[tool.refgrad]`` of its pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from refgrad.errors import UserError, suggestion

KINDS: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = MappingProxyType({
    "profile": ("a string", (str,)),
    "seed": ("a whole number", (int,)),
    "select": ("a list of strings", (list,)),
    "expect": ("a path as a string", (str,)),
    "output": ("a path as a string", (str,)),
    "python": ("a path as a string", (str,)),
    "workers": ("a whole number", (int,)),
    "time-limit": ("a number of seconds", (int, float)),
    "start-limit": ("a number of seconds", (int, float)),
    "memory-limit": ("a whole number of MiB", (int,)),
})
"""The keys, which are options of `refgrad grade`; paths are relative to the folder of the file."""

PATHS: Final = frozenset({"expect", "output"})


class DefaultsError(UserError):
    """The table ``[tool.refgrad]`` is not what it should be; the message says why in one line."""


def read_defaults(folder: Path) -> dict[str, Any]:
    """Return the defaults of the project that a folder is in, by the names of parameters.

    The project is where the nearest pyproject.toml is. Raises DefaultsError.
    """
    path = next((place / "pyproject.toml" for place in _upward(folder) if (place / "pyproject.toml").is_file()), None)
    if path is None:
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("refgrad", {})
    except (OSError, ValueError) as error:
        raise DefaultsError(f"{path} cannot be read: {error}") from error
    return {key.replace("-", "_"): _value(path, key, value) for key, value in table.items()}


def _upward(folder: Path) -> tuple[Path, ...]:
    """Return a folder and those above it; the one that a process works in has no name, as in what a user types."""
    first = Path() if folder.absolute() == Path.cwd() else folder
    return (first, *folder.absolute().parents)


def _value(path: Path, key: str, value: Any) -> Any:
    where = f"{path}: [tool.refgrad]"
    if key not in KINDS:
        raise DefaultsError(f"{where} has no key {key!r}{suggestion(key, KINDS) or ';'} there are: {', '.join(KINDS)}")
    named, kinds = KINDS[key]
    fits = isinstance(value, kinds) and not isinstance(value, bool)
    if not fits or (isinstance(value, list) and not all(isinstance(each, str) for each in value)):
        raise DefaultsError(f"{where}: {key!r} is {named}, not {value!r}")
    if key in PATHS:
        return path.parent / value
    return tuple(value) if isinstance(value, list) else value
