"""Settings of a run: the profile, which determines how much is run, the seed, and the defaults of a project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from refgrad.documents import checked, parsed_toml
from refgrad.errors import UserError


@dataclass(frozen=True, slots=True)
class Effort:
    """Numbers of scenarios that each kind of check tries.

    ``fixed_cases`` is the largest number of fixed cases of an operator; ``per_operator`` and the like are numbers of
    drawn scenarios. All graphs of at most ``small_graphs`` operators are tried. ``large_arrays`` is the number of large
    arrays for each operator: the first has thousands of entries, the second tens of thousands. ``exceptional`` is the
    number of choices of attributes with which an operator is tried at NaN, infinities and extreme numbers.
    """

    small_graphs: int
    fixed_cases: int
    large_arrays: int
    exceptional: int
    per_operator: int
    per_edge: int
    per_second_order: int
    per_third_order: int
    per_contract: int
    per_forward_mode: int
    per_half_precision: int
    per_graph_check: int


EFFORTS: Mapping[str, Effort] = MappingProxyType({
    "smoke": Effort(3, 12, 0, 1, 6, 5, 4, 2, 3, 2, 1, 40),
    "standard": Effort(4, 100, 2, 2, 12, 20, 14, 8, 12, 8, 6, 400),
    "thorough": Effort(4, 100, 2, 2, 500, 100, 250, 100, 200, 100, 100, 10_000),
})


@dataclass(frozen=True, slots=True)
class Settings:
    """The name of the profile, and the seed from which all choices follow."""

    profile: str = "standard"
    seed: int = 0

    @property
    def effort(self) -> Effort:
        """Numbers of scenarios of the profile."""
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
    document = parsed_toml(path, DefaultsError)
    tool = document.get("tool", {})
    own = {name: tool[name] for name in tool if name == "refgrad"} if isinstance(tool, dict) else tool
    if not own:
        return {}
    table = checked(path, {"tool": own}, "defaults", DefaultsError)["tool"].get("refgrad", {})
    return {key.replace("-", "_"): _value(path, key, value) for key, value in table.items()}


def _value(path: Path, key: str, value: Any) -> Any:
    if key in PATHS:
        return path.parent / value
    return tuple(value) if isinstance(value, list) else value
