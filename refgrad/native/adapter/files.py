"""Engine files: adapters written as TOML, which may extend families of spellings that several files share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from refgrad.documents import read_toml, resolved
from refgrad.errors import suggestion
from refgrad.lifecycle import Policy
from refgrad.native.adapter.adapter import KINDS, AdapterError, AnyAdapter, OutsideRunner, checked_adapter, no_operator
from refgrad.native.adapter.fields import ROWS, AdapterField, required, rows
from refgrad.native.adapter.spelling import spell
from refgrad.native.engine_names import engines_directory
from refgrad.operators import operator_table

FILE_FIELDS: Final = ("kind", "extends", "modules", "calls", "without")
"""Fields that engine files have in addition to those of adapters."""

ALIKE: Final = "{alike}"
"""Text in the first position of a row whose main spelling comes from the modules of ``alike``."""

INHERITED: Final = "..."
"""Text that stands for what is inherited.

In a row it stands for the spellings of the operator in a family or in ``calls``. As the first line of a ``setup`` it
stands for the setup of the family.
"""

MERGED: Final = frozenset({"coarser", "errors", "policy", "modules", "operators", "ways"})
"""Tables that are merged: a file, or a later family, replaces single rows of them."""

CONVERSIONS: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType({
    "policy": lambda table: Policy(**table),
    "runner": lambda table: table and OutsideRunner(tuple(table["command"]), table.get("printer", "none")),
    **dict.fromkeys(("alike", "dtypes", "preload", "refusals"), tuple),
    **dict.fromkeys(("unlike", "lacks", "no_half", "double_only"), frozenset),
})


def read_adapter(path: Path | str) -> AnyAdapter:
    """Return the adapter that an engine file describes: always the same object, so that its engine starts once.

    Raises AdapterError where the file, or a family that it extends, cannot be read or is malformed; the message names
    the file, the field and what to do.
    """
    return _read_adapter(resolved(Path(path)))


@cache
def _read_adapter(path: Path) -> AnyAdapter:
    kind = _parsed(path)["kind"]
    if kind not in KINDS:
        raise _error(path, f"kind: a {kind} is no engine; write {' or '.join(map(repr, KINDS))}")
    merged = _merged(path, ())
    _check_fields(path, kind, merged)
    try:
        adapter = KINDS[kind](**_arguments(_with_modules(merged)))
    except AdapterError as error:
        raise _error(path, str(error)) from error
    return checked_adapter(adapter, str(path))


@cache
def family_rows(name: str) -> Mapping[str, Sequence[str]]:
    """Return the spellings of a family that refgrad includes. Placeholders of modules are not filled in."""
    path = engines_directory() / "families" / f"{name}.toml"
    rows: Mapping[str, Sequence[str]] = _merged(resolved(path), ())["operators"]
    return rows


def _error(path: Path, problem: str) -> AdapterError:
    return AdapterError(f"{path}: {problem}")


@cache
def _parsed(path: Path) -> Mapping[str, Any]:
    document = read_toml(path, "engine", AdapterError)
    for where in ("operators", "without"):
        for name in document.get(where, ()):
            if name not in operator_table():
                raise _error(path, f"{where}.{name}: {no_operator(name)}")
    if "operators" in document:
        rows = document["operators"].items()
        document["operators"] = {name: [row] if isinstance(row, str) else row for name, row in rows}
    if "runner" in document:
        command = document["runner"]["command"]
        document["runner"]["command"] = [str(path.parent / p) if p.startswith(("./", "../")) else p for p in command]
    return document


def _merged(path: Path, extending: tuple[Path, ...]) -> dict[str, Any]:
    """Return the fields of a file merged with those of its families, with all inherited spellings filled in."""
    if path in extending:
        circle = [file.stem for file in (*extending[extending.index(path) :], path)]
        raise _error(extending[-1], f"extends: a circle: {' -> '.join(circle)}")
    own = _parsed(path)
    known, merged = file_fields(own["kind"]), dict[str, Any]()
    for name in own.get("extends", ()):
        family = _family(name, path)
        inherited = _merged(family, (*extending, path))
        if _parsed(family)["kind"] in KINDS:  # an engine may have fields that this kind lacks
            inherited = {name: value for name, value in inherited.items() if name in known}
        merged = _over(merged, inherited)
    setup = {"setup": _set_up(path, merged.get("setup"), own["setup"])} if "setup" in own else {}
    return {**_over(merged, own), **setup, "operators": _spelled(path, merged.get("operators", {}), own)}


def _set_up(path: Path, inherited: str | None, own: str) -> str:
    """Return a setup, with the inherited setup in place of a first line ``...``."""
    first, _, rest = own.partition("\n")
    if first.strip() != INHERITED:
        return own
    if inherited is None:
        raise _error(path, f"setup: {INHERITED!r} stands for a family's setup, and none has one")
    return f"{inherited.rstrip()}\n{rest}"


def _family(name: str, path: Path) -> Path:
    if name.endswith(".toml"):
        return resolved(path.parent / name)
    families = {file.stem: file for file in (engines_directory() / "families").glob("*.toml")}
    if name not in families:
        known = f"{suggestion(name, families) or ';'} there are {', '.join(sorted(families))}"
        raise _error(path, f"extends: there is no family {name!r}{known}, and files, such as './{name}.toml'")
    return resolved(families[name])


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of both, where ``above`` replaces ``below``; tables in ``MERGED`` are merged by row."""
    tables: dict[str, Any] = {
        name: {**below.get(name, {}), **above.get(name, {})} for name in MERGED if name in {*below, *above}
    }
    return {**below, **above, **tables}


def _spelled(path: Path, inherited: Mapping[str, Sequence[str]], own: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the spellings of an engine: inherited rows, except those in ``without``, replaced by the file's own."""
    for name in own.get("without", ()):
        if name not in inherited:
            raise _error(path, f"without.{name}: no family that the file extends has this row; leave it out")
    spelled = {name: list(row) for name, row in inherited.items() if name not in own.get("without", ())}
    for module, names in own.get("calls", {}).items():
        try:
            called = spell(module, None if names == "all" else names)
        except AdapterError as error:
            raise _error(path, f"calls.{module}: {error}") from error
        spelled |= {name: [text] for name, text in called.items()}
    for name, row in own.get("operators", {}).items():
        if INHERITED in row and name not in spelled:
            raise _error(
                path, f"operators.{name}: {INHERITED!r} stands for a family's spellings, and none has this row"
            )
        spelled[name] = [each for text in row for each in (spelled[name] if text == INHERITED else [text])]
    return spelled


def _check_fields(path: Path, kind: str, merged: Mapping[str, Any]) -> None:
    """Raise AdapterError for a field that the kind of engine does not have, and for a required one that is missing.

    Fields that come from families are checked too.
    """
    known = file_fields(kind)
    for name in merged.keys() - known.keys():
        raise _error(path, f"{name}: a {kind} engine has no such field; a family gives it")
    for name in required(KINDS[kind]):
        if name not in merged:
            raise _error(path, f"{name}: missing; a {kind} engine needs it, such as {name} = {known[name].toml}")


def _with_modules(merged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields, with module placeholders in code templates replaced by the engine's modules."""
    modules = merged.get("modules", {})
    templates = {name for name, row in ROWS.items() if row.placeholders is not None} | {"operators"}
    return {name: _filled(value, modules) if name in templates else value for name, value in merged.items()}


def _filled(value: Any, modules: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _filled(each, modules) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, modules) for each in value]
    for name, module in modules.items():
        value = value.replace(f"{{{name}}}", module)
    return value


def _arguments(merged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the adapter's class from the fields of a file."""
    values = {name: value for name, value in merged.items() if name not in FILE_FIELDS}
    converted = {name: CONVERSIONS[name](value) if name in CONVERSIONS else value for name, value in values.items()}
    spelled = merged["operators"]
    converted["operators"] = {name: row[0] for name, row in spelled.items() if row[0] != ALIKE}
    converted["aliases"] = {name: tuple(row[1:]) for name, row in spelled.items() if len(row) > 1}
    return converted


def file_fields(kind: str) -> Mapping[str, AdapterField]:
    """Return the rows of the fields that a file of a kind may have, by name. A ``family`` may have all of them."""
    names = ROWS.keys() if kind == "family" else ROWS.keys() & {*FILE_FIELDS, *rows(KINDS[kind])}
    return {name: row for name, row in ROWS.items() if name in names}
