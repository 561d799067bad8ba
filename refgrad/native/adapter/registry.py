"""Engines by name: adapters of refgrad, of installed packages and of users' modules, with versions and inventories.

A module of the user is imported in a separate process, which passes its adapter to refgrad as data.
"""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any, Final, TypeAlias

from refgrad.errors import EngineStartError, suggestion
from refgrad.native.adapter.adapter import KINDS, AdapterError, AnyAdapter, checked_adapter
from refgrad.native.adapter.files import CONVERSIONS, read_adapter
from refgrad.native.engine_names import offered_engine, shipped_engines, unknown_engine
from refgrad.native.languages import output_of
from refgrad.native.process import EndingError, Limits, RunnerProcess
from refgrad.native.runners import adapter_loader

OF_INTERPRETER: Final = "import platform; print(platform.python_version())"
"""Program of Python that prints the version of its interpreter."""

KIND: Final = "kind"
"""Key of the adapter's kind in its data, as in engine files."""


Reached: TypeAlias = Callable[[Callable[..., Any], Sequence[Any]], Iterable[str]]
"""Function that calls ``function(*primals)`` and returns the entries of an inventory that the call reaches.

The function is differentiated with respect to all primals. Names in the result that are not entries are ignored.
Exceptions of the call are propagated.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """A list of an engine's own differentiable operators, and a function that finds those that a call reaches.

    ``title`` says what the entries are, in the plural, and ``source`` where the list comes from. ``entries`` are
    counted. ``apart`` are not counted; they are grouped by the reason. ``undecided`` may or may not be differentiable;
    they are grouped by what the inventory tried. If a row reaches one of them, it is differentiable. ``synonyms`` are
    groups of names of one operator.
    """

    title: str
    source: str
    entries: frozenset[str]
    reached: Reached
    apart: Mapping[str, frozenset[str]] = field(default_factory=dict)
    undecided: Mapping[str, frozenset[str]] = field(default_factory=dict)
    synonyms: tuple[frozenset[str], ...] = ()


def find_adapter(name: str, seconds: float = Limits().start) -> AnyAdapter:
    """Return the adapter of a registered engine, of the file at a path that ends in .toml, or at ``module:object``.

    Modules are also searched for in the current folder. They are imported in a separate process, which may take
    ``seconds``. Raises AdapterError where there is no such adapter, or it is malformed, and EngineStartError where the
    import ends the process or does not end.
    """
    if name.endswith(".toml"):
        return read_adapter(name)
    if ":" in name:
        if not all(name.partition(":")):
            raise AdapterError(f"{name!r} is not of the form module:object")
        return load_adapter(name, name, seconds)
    if problem := unknown_engine(name):
        raise AdapterError(problem)
    shipped = shipped_engines()
    return read_adapter(shipped[name]) if name in shipped else load_adapter(offered_engine(name).value, name, seconds)


def is_reference_engine(adapter: AnyAdapter) -> bool:
    """Return True if an adapter is that of the reference engine, judged by the file that it was read from."""
    return adapter is read_adapter(shipped_engines()["refgrad"])


def engine_version(adapter: AnyAdapter, python: str = sys.executable) -> str:
    """Return the installed version of an adapter's package, or ``unknown``. ``python`` is its interpreter."""
    return adapter.syntax.version(adapter.distribution, python) if adapter.distribution else "unknown"


def python_version(python: str = sys.executable) -> str:
    """Return the version of a Python interpreter, or ``unknown``."""
    return platform.python_version() if python == sys.executable else output_of(python, "-c", OF_INTERPRETER)


def adapter_data(adapter: AnyAdapter) -> dict[str, Any]:
    """Return an adapter as JSON data: its fields by name, and its kind."""
    kind = next(name for name, each in KINDS.items() if isinstance(adapter, each))
    return {KIND: kind} | {each.name: _plain(getattr(adapter, each.name)) for each in fields(KINDS[kind])}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return sorted(value) if isinstance(value, set | frozenset) else list(value) if isinstance(value, tuple) else value


def adapter_of(data: Mapping[str, Any]) -> AnyAdapter:
    """Return the adapter that :func:`adapter_data` describes. Raises AdapterError if the data are malformed."""
    arguments = {name: CONVERSIONS[name](value) if name in CONVERSIONS else value for name, value in data.items()}
    arguments["aliases"] = {name: tuple(texts) for name, texts in data["aliases"].items()}
    return KINDS[arguments.pop(KIND)](**arguments)


def imported(name: str, origin: str) -> Any:
    """Import ``module:object`` in this process and return the adapter's data. Raises what the module raises."""
    module_name, _, attribute = name.partition(":")
    module = importlib.import_module(module_name)
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
    except EndingError as ended:
        raise EngineStartError(f"engine {engine!r} cannot be started: its adapter's import: {ended}") from ended
    finally:
        process.kill()
    if "error" in answer:
        raise _import_error(answer["error"], engine, origin)
    return adapter_of(answer["adapter"])


def _import_error(error: Mapping[str, Any], engine: str, origin: str) -> AdapterError | EngineStartError:
    """Return the error to raise for an exception of a module.

    The message begins with the type of the exception, except for an ImportError, whose message names the module.
    """
    message = error["message"] if "ImportError" in error["bases"] else f"{error['type']}: {error['message']}"
    if "AdapterError" in error["bases"]:
        return AdapterError(error["message"])
    if "Exception" in error["bases"]:
        return AdapterError(f"{origin}: the module cannot be imported: {message}")
    return EngineStartError(f"engine {engine!r} cannot be started: its adapter raised {message}")


def inventories_of(adapter: AnyAdapter) -> tuple[Inventory, ...]:
    """Return the inventories of an engine, from the ``module:function`` that its adapter names, if it names one.

    The engine must be installed. Raises AdapterError where the function does not exist, raises, or returns something
    else.
    """
    if adapter.inventory is None:
        return ()
    module, _, name = adapter.inventory.partition(":")
    try:
        inventories = tuple(getattr(importlib.import_module(module), name)())
    except Exception as error:  # a user's module may raise anything
        raise adapter.error(f"inventory {adapter.inventory!r}: {type(error).__name__}: {error}") from error
    for candidate in inventories:
        if not isinstance(candidate, Inventory):
            kind = type(candidate).__name__
            raise adapter.error(
                f"inventory {adapter.inventory!r}: gives {kind}, not a refgrad.native.adapter.Inventory"
            )
    return inventories
