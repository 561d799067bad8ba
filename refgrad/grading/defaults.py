"""The defaults of grading that a project gives in the table ``[tool.refgrad]`` of its pyproject.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from refgrad.documents import checked, parsed_toml
from refgrad.errors import UserError

PATHS: Final = frozenset({"expect", "output"})
"""The keys whose values are paths relative to the folder of the file."""


class DefaultsError(UserError):
    """The table ``[tool.refgrad]`` is not what it should be; the message says why in one line."""


def read_defaults(folder: Path) -> dict[str, Any]:
    """Return the defaults of the project that a folder is in, by the names of parameters.

    The project is where the nearest pyproject.toml is. Raises DefaultsError.
    """
    path = next((place / "pyproject.toml" for place in _upward(folder) if (place / "pyproject.toml").is_file()), None)
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
    """Return a folder and those above it; the one that a process works in has no name, as in what a user types."""
    first = Path() if folder.absolute() == Path.cwd() else folder
    return (first, *folder.absolute().parents)


def _value(path: Path, key: str, value: Any) -> Any:
    if key in PATHS:
        return path.parent / value
    return tuple(value) if isinstance(value, list) else value
