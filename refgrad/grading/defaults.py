"""Defaults of grading that a project sets in the table ``[tool.refgrad]`` of its pyproject.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from refgrad.documents import checked, parsed_toml
from refgrad.errors import UserError

PATHS: Final = frozenset({"expect", "output"})
"""Keys whose values are paths relative to the folder of the file."""


class DefaultsError(UserError):
    """The table ``[tool.refgrad]`` is invalid; the message gives the reason in one line."""


def read_defaults(folder: Path) -> dict[str, Any]:
    """Return the defaults of the project that contains a folder, by the names of parameters.

    The project is that of the nearest pyproject.toml. Raises DefaultsError if its table is invalid.
    """
    path = next((each / "pyproject.toml" for each in _upward(folder) if (each / "pyproject.toml").is_file()), None)
    if path is None:
        return {}
    document = parsed_toml(path, DefaultsError)
    tool = document.get("tool", {})
    own = {name: tool[name] for name in tool if name == "refgrad"} if isinstance(tool, dict) else tool
    if not own:
        return {}
    table = checked(path, {"tool": own}, "defaults", DefaultsError)["tool"].get("refgrad", {})
    return {key.replace("-", "_"): _value(path, key, value) for key, value in table.items()}


def _upward(folder: Path) -> tuple[Path, ...]:
    """Return a folder and its parents. The current folder is an empty path, so that paths in it stay relative."""
    first = Path() if folder.absolute() == Path.cwd() else folder
    return (first, *folder.absolute().parents)


def _value(path: Path, key: str, value: Any) -> Any:
    if key in PATHS:
        return path.parent / value
    return tuple(value) if isinstance(value, list) else value
