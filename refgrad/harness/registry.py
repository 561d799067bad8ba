"""Which engines can be graded, and what is behind a name?"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from pathlib import Path

from refgrad.harness.adapter import AdapterError, AnyAdapter, checked_adapter

GROUP = "refgrad.engines"


def registered_engines() -> Mapping[str, EntryPoint]:
    """Return the engines that installed packages offer through the entry-point group ``refgrad.engines``."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def find_adapter(name: str) -> AnyAdapter:
    """Return the adapter of a registered engine, or the one at ``module:object`` (seen from the current folder too).

    Raises AdapterError where there is none, or where it is malformed.
    """
    if ":" in name:
        return _import_adapter(name)
    engines = registered_engines()
    if name not in engines:
        known = ", ".join(engines) or "none"
        message = f"there is no engine {name!r}; there are: {known}; your own is named as module:object"
        raise AdapterError(message)
    try:
        candidate = engines[name].load()
    except AdapterError:
        raise
    except Exception as error:
        message = f"engine {name!r}: its adapter cannot be imported: {_said(error)}"
        raise AdapterError(message) from error
    return checked_adapter(candidate, f"engine {name!r}")


def engine_version(adapter: AnyAdapter) -> str:
    """Return the version of the installed package behind an adapter, or ``unknown``."""
    try:
        return version(adapter.distribution) if adapter.distribution else "unknown"
    except PackageNotFoundError:
        return "unknown"


def _import_adapter(name: str) -> AnyAdapter:
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    if not module_name or not attribute:
        message = f"{name!r} is not of the form module:object"
        raise AdapterError(message)
    try:
        module = importlib.import_module(module_name)
    except AdapterError:
        raise
    except Exception as error:  # a module of someone else's may raise anything
        message = f"{name!r}: the module cannot be imported: {_said(error)}"
        raise AdapterError(message) from error
    if not hasattr(module, attribute):
        message = f"{name!r}: module {module_name!r} has no {attribute!r}"
        raise AdapterError(message)
    return checked_adapter(getattr(module, attribute), repr(name))


def _said(error: Exception) -> str:
    """What an import says: an ImportError names the module, of any other error the kind matters too."""
    return str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
