"""Names of the engines that can be graded, without loading their adapters."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final

from refgrad.errors import suggestion
from refgrad.specification import specs_directory

GROUP: Final = "refgrad.engines"
"""Group of the entry points by which packages offer engines."""


def engines_directory() -> Path:
    """Return the folder of the engine files that come with refgrad."""
    return specs_directory() / "engines"


def shipped_engines() -> Mapping[str, Path]:
    """Return the engine files that come with refgrad, by the engine's name."""
    return {path.stem: path for path in sorted(engines_directory().glob("*.toml"))}


def registered_engines() -> tuple[str, ...]:
    """Return the names of refgrad's engines, and of those that packages offer by the entry points refgrad.engines."""
    return tuple(sorted({*shipped_engines(), *entry_points(group=GROUP).names}))


def offered_engine(name: str) -> EntryPoint:
    """Return the entry point of an engine that a package offers."""
    return next(iter(entry_points(group=GROUP, name=name)))


def unknown_engine(name: str) -> str:
    """Return why no engine has this name; an empty string for ``module:object`` and for a file that exists, too."""
    if name.endswith(".toml"):
        return _missing_file(Path(name))
    if ":" in name or name in shipped_engines():
        return ""
    known = registered_engines()
    if name in known:
        return ""
    message = f"there is no engine {name!r}{suggestion(name, known) or ';'} there are: {', '.join(known) or 'none'}"
    return f"{message}; your own is named as module:object, or as the path of an engine file .toml (see `refgrad new`)"


def is_file(text: str) -> bool:
    """Return True if a text names a file of Python or the folder of a package, not a module."""
    return text.endswith(".py") or (os.sep in text and Path(text).is_dir())


def is_importable(module: str) -> bool:
    """Return True if this interpreter finds a module, which may be in the current folder. Nothing is imported."""
    named = all(part.isidentifier() for part in module.split("."))
    return named and PathFinder.find_spec(module.partition(".")[0], [str(Path.cwd()), *sys.path]) is not None


def _missing_file(path: Path) -> str:
    try:
        return "" if path.exists() else f"{path.absolute()}: there is no such file"
    except OSError:  # too long for a file name; reading the file reports that
        return ""
