"""Settings of a run: the profile, which determines how much is run, the seed, and the defaults of a project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from refgrad.documents import checked, parsed_toml
from refgrad.errors import UserError
from refgrad.specification import shipped_path

CHECKS: Final = parsed_toml(shipped_path("checks.toml"))
"""Families of checks, and how much each profile tries."""

NUMBERS: Final = parsed_toml(shipped_path("numbers", "grading.toml"))
"""Chosen numbers of the search, of judgements and of measurements, by what they are for."""

EFFORTS: Final[Mapping[str, Mapping[str, Any]]] = {
    profile: {name: row[profile] for name, row in CHECKS["effort"].items()}
    for profile in ("smoke", "standard", "thorough")
}
"""How much each profile tries: numbers of scenarios and seconds, by name."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The name of the profile, and the seed from which all choices follow."""

    profile: str = "standard"
    seed: int = 0

    @property
    def effort(self) -> Mapping[str, Any]:
        """How much the profile tries."""
        return EFFORTS[self.profile]


PATHS: Final = frozenset({"expect", "output"})
"""Keys whose values are paths relative to the folder of the file."""


class DefaultsError(UserError):
    """The table ``[tool.refgrad]`` is invalid; the message gives the reason in one line."""


def read_defaults(folder: Path) -> dict[str, Any]:
    """Return the defaults of the project that contains a folder, by the names of parameters.

    The project is that of the nearest pyproject.toml. Raises DefaultsError if its table is invalid.
    """
    # the current folder is an empty path, so that paths in it stay relative
    first = Path() if folder.absolute() == Path.cwd() else folder
    folders = (first, *folder.absolute().parents)
    path = next((each / "pyproject.toml" for each in folders if (each / "pyproject.toml").is_file()), None)
    if path is None:
        return {}
    tool = parsed_toml(path, DefaultsError).get("tool", {})
    own = {name: tool[name] for name in tool if name == "refgrad"} if isinstance(tool, dict) else tool
    if not own:
        return {}
    table = checked(path, {"tool": own}, "defaults", DefaultsError)["tool"].get("refgrad", {})
    return {key.replace("-", "_"): _value(path, key, value) for key, value in table.items()}


def _value(path: Path, key: str, value: Any) -> Any:
    if key in PATHS:
        return path.parent / value
    return tuple(value) if isinstance(value, list) else value
