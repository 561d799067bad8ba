"""Adapters in modules of the user: imported in a separate process, and passed to refgrad as data."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache, reduce
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from refgrad.errors import EngineStartError, suggestion
from refgrad.lifecycle import Policy
from refgrad.native.adapter.adapter import AdapterError
from refgrad.native.adapter.files import CONVERSIONS
from refgrad.native.adapter.kinds import KINDS, AnyAdapter, checked_adapter
from refgrad.native.process import EndedError, RunnerProcess
from refgrad.native.runners import adapter_loader

KIND: Final = "kind"
"""Key of the adapter's kind in its data, as in engine files."""


def adapter_data(adapter: AnyAdapter) -> dict[str, Any]:
    """Return an adapter as JSON data: its fields by name, and its kind."""
    kind = next(name for name, each in KINDS.items() if isinstance(adapter, each))
    return {KIND: kind} | {each.name: _plain(getattr(adapter, each.name)) for each in fields(KINDS[kind])}


def _plain(value: Any) -> Any:
    if isinstance(value, Policy):
        return asdict(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return sorted(value) if isinstance(value, set | frozenset) else list(value) if isinstance(value, tuple) else value


def adapter_of(data: Mapping[str, Any]) -> AnyAdapter:
    """Return the adapter that :func:`adapter_data` describes. Raises AdapterError where it is malformed."""
    given = {name: CONVERSIONS[name](value) if name in CONVERSIONS else value for name, value in data.items()}
    given["aliases"] = {name: tuple(texts) for name, texts in data["aliases"].items()}
    return KINDS[given.pop(KIND)](**given)


def imported(name: str, origin: str) -> Any:
    """Import ``module:object`` in this process and return the adapter's data. Raises what the module raises."""
    module_name, _, attribute = name.partition(":")
    module = import_module(module_name)
    try:
        candidate = reduce(getattr, attribute.split("."), module)
    except AttributeError as error:
        meant = suggestion(attribute, vars(module))
        raise AdapterError(f"{name!r}: module {module_name!r} has no {attribute!r}{meant}") from error
    return adapter_data(checked_adapter(candidate, origin))


def load_adapter(name: str, engine: str, seconds: float) -> AnyAdapter:
    """Return the adapter at ``module:object``. A separate process imports the module unless this one already has.

    ``engine`` is the name that the user gave. Raises AdapterError where there is no adapter, or it is malformed, and
    EngineStartError where the import ends the process or takes longer than ``seconds``.
    """
    return _loaded(name, engine, seconds, str(Path.cwd()), tuple(sys.path))


@cache
def _loaded(name: str, engine: str, seconds: float, folder: str, path: tuple[str, ...]) -> AnyAdapter:
    origin = repr(engine) if name == engine else f"engine {engine!r}"
    if name.partition(":")[0] in sys.modules:
        return adapter_of(imported(name, origin))
    process = RunnerProcess([sys.executable, "-u", adapter_loader.__file__])
    try:
        answer = process.ask({"id": 1, "load": name, "origin": origin, "path": [folder, *path]}, seconds)
    except EndedError as ended:
        raise EngineStartError(f"engine {engine!r} cannot be started: its adapter's import: {ended.detail}") from ended
    finally:
        process.kill()
    if "error" in answer:
        raise _refusal(answer["error"], engine, origin)
    return adapter_of(answer["adapter"])


def _refusal(error: Mapping[str, Any], engine: str, origin: str) -> AdapterError | EngineStartError:
    """Return the error to raise for an exception of a module.

    The message begins with the type of the exception, except for an ImportError, whose message names the module.
    """
    message = error["message"] if "ImportError" in error["bases"] else f"{error['type']}: {error['message']}"
    if "AdapterError" in error["bases"]:
        return AdapterError(error["message"])
    if "Exception" in error["bases"]:
        return AdapterError(f"{origin}: the module cannot be imported: {message}")
    return EngineStartError(f"engine {engine!r} cannot be started: its adapter raised {message}")
