"""Reading of files: bounded in size and depth, decoded as text, TOML or JSON, and checked by a JSON Schema.

Every file that a user can write or replace is read here. A problem is raised as an error of the caller's class. Its
message is one line: the file, the position in it, the problem, and the alternatives if there are any.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator
from datetime import date, time
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from refgrad.errors import UserError, shortened, suggestion
from refgrad.specification import shipped_path

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

MOST_BYTES: Final = 1 << 24
"""Largest size of a file that is read, in bytes. The largest report that is committed has 0.4 MB."""

MOST_BYTES_OF_TOML: Final = 1 << 21
"""Largest size of a TOML file, in bytes: the parser reads about 1 MB a second. refgrad's largest table has 0.1 MB."""

DEEPEST: Final = 64
"""Largest depth to which tables and lists may be nested. The files of refgrad itself nest 9 deep."""

PLAIN_KEY: Final = re.compile(r"[\w./-]+")
"""Pattern of keys that are printed as they are; others are printed in quotes, with escapes."""

UNKNOWN_KEY: Final = "additionalProperties"
"""JSON Schema keyword that an unknown key violates."""

LONGEST_PROBLEM: Final = 200
"""Largest number of characters of a value or a template that a message shows."""

MOST_ERRORS: Final = 1000
"""Largest number of errors of a document that are compared; the outermost of them is reported."""

MOST_ALTERNATIVES: Final = 20
"""Largest number of known keys that an error message lists."""


class DocumentError(UserError):
    """Error for a file that cannot be read or has invalid content; the message names the file and the position."""


def resolved(path: Path) -> Path:
    """Return the absolute path without links. A loop of links, or a name that no file can have, is left unchanged."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return path


def read_bytes(path: Path, error: type[UserError] = DocumentError, most: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file.

    Raise ``error`` for a file that does not exist, is a folder, a pipe or a device, or has more than ``most`` bytes.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise error(f"{path}: cannot be read: it is not a regular file")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except FileNotFoundError as problem:
        raise error(f"{path}: there is no such file") from problem
    except (OSError, ValueError) as problem:
        if isinstance(problem, UserError):
            raise
        raise error(f"{path}: cannot be read: {getattr(problem, 'strerror', None) or problem}") from problem
    if len(content) > most:
        raise error(f"{path}: cannot be read: it has more than {most:,} bytes")
    return content


def read_text(path: Path, error: type[UserError] = DocumentError, most: int = MOST_BYTES) -> str:
    r"""Return the text of a UTF-8 file, with ``\n`` as line end.

    Raise ``error`` as `read_bytes` does, or if the file is not UTF-8.
    """
    try:
        return read_bytes(path, error, most).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as problem:
        raise error(f"{path}: cannot be read: it is not a text in UTF-8: {problem.reason}") from problem


def read_toml(
    path: Path, schema: str, error: type[UserError] = DocumentError, dates: Collection[str] = ()
) -> dict[str, Any]:
    """Return the content of a TOML file that satisfies the schema of this name. Raise ``error`` for any other file.

    The values of the keys ``dates`` may be dates; they are returned as strings, such as ``2027-01-31``.
    """
    document: dict[str, Any] = checked(path, parsed_toml(path, error), schema, error, dates)
    return document


def read_json(path: Path, schema: str, error: type[UserError] = DocumentError) -> Any:
    """Return the content of a JSON file that satisfies the schema of this name. Raise ``error`` for any other file."""
    return checked(path, parsed_json(path, error), schema, error)


def parsed_toml(path: Path, error: type[UserError] = DocumentError) -> dict[str, Any]:
    """Return the parsed content of a TOML file. Raise ``error`` if it cannot be read as TOML."""
    document: dict[str, Any] = _parsed(path, "TOML", tomllib.loads, error, MOST_BYTES_OF_TOML)
    return document


def parsed_json(path: Path, error: type[UserError] = DocumentError) -> Any:
    """Return the parsed content of a JSON file. Raise ``error`` if it cannot be read as JSON."""
    return _parsed(path, "JSON", json.loads, error, MOST_BYTES)


def checked(
    path: Path, document: Any, schema: str, error: type[UserError] = DocumentError, dates: Collection[str] = ()
) -> Any:
    """Return the document, with dates as strings. Raise ``error`` if it does not satisfy the schema of this name."""
    try:
        for where, holder, key in _members(document):
            if isinstance(holder[key], date | time):
                if key not in dates:
                    raise error(f"{path}: {position(where)}: a date is not allowed here; write a text in quotes")
                holder[key] = holder[key].isoformat()
            elif isinstance(holder[key], int) and abs(holder[key]) > sys.float_info.max:
                raise error(f"{path}: {position(where)}: the number is too large")
        problem = first_problem(validator_of(schema), document)
    except RecursionError as fault:
        raise error(f"{path}: it is nested more than {DEEPEST} deep") from fault
    if problem is not None:
        raise error(": ".join([str(path), *explained(problem, schema_of(schema))]))
    return document


@cache
def schema_of(name: str) -> Any:
    """Return the schema of this name, or for ``NAME#PART`` the definition ``PART`` of that schema."""
    name, _, part = name.partition("#")
    if part:
        return {"$ref": f"#/$defs/{part}", "$defs": schema_of(name)["$defs"]}
    return json.loads(shipped_path("schema", f"{name}.schema.json").read_text(encoding="utf-8"))


@cache
def validator_of(name: str) -> Draft202012Validator:
    """Return the validator of the schema that :func:`schema_of` returns for this name."""
    from jsonschema_rs import Draft202012Validator  # noqa: PLC0415 (loaded only when a document is checked)

    return Draft202012Validator(schema_of(name), validate_formats=True)


def first_problem(validator: Draft202012Validator, document: Any) -> ValidationError | None:
    """Return the outermost error of a document, or None if it satisfies the schema.

    An unknown key is preferred to a missing one, which it may be a misspelling of. If none of several alternative
    schemas is satisfied, return the error that lies deepest in the document, provided that only one lies there.
    """
    error = min(islice(validator.iter_errors(document), MOST_ERRORS), key=_rank, default=None)
    return None if error is None else _furthest(error)


def explained(error: ValidationError, schema: Any) -> Iterator[str]:
    """Yield the position of an error, unless it is the whole document, and a description of the error."""
    where = list(error.instance_path)
    if error.kind.name == UNKNOWN_KEY:
        for part in error.schema_path[:-1]:
            schema = schema[part]
        unknown, known = min(error.kind.value), schema.get("properties", {})
        listed = f" there are {', '.join(known)}" if len(known) <= MOST_ALTERNATIVES else ""
        yield position([*where, shortened(unknown)])
        yield f"there is no such key{suggestion(unknown, known) or ';' * bool(listed)}{listed}"
    else:
        yield from [position(where)] if where else []
        yield shortened(message_of(error), LONGEST_PROBLEM)


def position(path: Collection[str | int]) -> str:
    """Return a position in a document as text, such as `verdicts[0].id`."""
    names = (part if isinstance(part, int) or PLAIN_KEY.fullmatch(part) else json.dumps(part) for part in path)
    return "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in names).removeprefix(".")


def message_of(error: ValidationError) -> str:
    """Return the message of an error; for an enumeration, with all values that it allows."""
    match error.kind.name, error.kind.value:
        case "enum", options:
            return f"{json.dumps(error.instance)} is not one of {', '.join(map(json.dumps, options))}"
        case "required", name:
            return f"{name!r} is missing"
        case "not", {} as schema if not schema:
            return "there is no such key here"
    return error.message


def _parsed(path: Path, kind: str, parse: Callable[[str], Any], error: type[UserError], most: int) -> Any:
    text = read_text(path, error, most)
    try:
        return parse(text)
    except RecursionError as problem:
        raise error(f"{path}: cannot be read as {kind}: it is nested too deep") from problem
    except ValueError as problem:
        raise error(f"{path}: cannot be read as {kind}: {problem}") from problem


def _members(document: Any) -> Iterator[tuple[list[Any], Any, Any]]:
    """Yield each member of a document: its position, the table or list that holds it, and its key or index there.

    Raise RecursionError for a document that is nested too deep.
    """
    path: list[Any] = []
    stack = [_level(document)]
    while stack:
        holder, keys = stack[-1]
        for key in keys:
            path[len(stack) - 1 :] = [key]
            yield path, holder, key
            if isinstance(holder[key], dict | list):
                if len(stack) == DEEPEST:
                    raise RecursionError
                stack.append(_level(holder[key]))
                break
        else:
            stack.pop()


def _level(holder: Any) -> tuple[Any, Iterator[Any]]:
    """Return a value with an iterator over its keys or indices, which is empty unless it is a table or a list."""
    if isinstance(holder, dict):
        return holder, iter(holder)
    return holder, iter(range(len(holder)) if isinstance(holder, list) else ())


def _furthest(error: ValidationError) -> ValidationError:
    inner = [each for branch in getattr(error.kind, "context", None) or () for each in branch]
    deepest = max(map(_depth, inner), default=0)
    candidates = [each for each in inner if _depth(each) == deepest]
    return _furthest(candidates[0]) if len(candidates) == 1 else error


def _rank(error: ValidationError) -> tuple[int, bool]:
    return _depth(error), error.kind.name != UNKNOWN_KEY


def _depth(error: ValidationError) -> int:
    return len(error.instance_path)
