"""The packed form of verdicts in a report: members that most verdicts of a chapter share are stored once.

A packed row holds the members in which a verdict differs from the shared ones. The shared ones are stored in
``common``, by chapter and outcome. In their texts ``{name}`` is a placeholder for the part of the verdict's id after
the slash. Objects, such as evidence, are merged member by member, and all other values are replaced. A null removes a
member. A row without the member ``verdict`` has the first outcome in ``common``. A row without any difference is stored
as its id.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

Row = dict[str, Any]
Common = dict[str, list[Row]]

NAME: Final = "{name}"


def packed(rows: Sequence[Row]) -> tuple[Common, list[Row | str]]:
    """Return the shared members of each chapter, those of its most frequent outcome first, and the packed rows."""
    groups: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        groups.setdefault(_chapter(row), {}).setdefault(row["verdict"], []).append(row)
    common = {
        chapter: [_shared(group) for group in sorted(by_verdict.values(), key=len, reverse=True) if len(group) > 1]
        for chapter, by_verdict in groups.items()
    }
    return {chapter: shared for chapter, shared in common.items() if shared}, [_stored(row, common) for row in rows]


def unpacked(common: Mapping[str, Sequence[Row]], rows: Iterable[Row | str]) -> list[Row]:
    """Return the verdicts that were packed. The arguments must come from a report that satisfies its schema."""
    objects = [{"id": row} if isinstance(row, str) else row for row in rows]
    return [_whole(row, _base(row, common.get(_chapter(row), ()))) for row in objects]


def unpacked_size(common: Mapping[str, Sequence[Row]], rows: Iterable[Row | str]) -> int:
    """Return an upper bound of the number of characters that verdicts take from ``common``, with names filled in."""
    sizes = {chapter: len(json.dumps(shared)) for chapter, shared in common.items()}
    names = [row if isinstance(row, str) else row["id"] for row in rows]
    return sum(sizes.get(name.partition("/")[0], 0) * len(name) for name in names)


def _whole(row: Row, base: Row) -> Row:
    """Return a packed row merged with its base."""
    whole = {member: _completed(base.get(member), value) for member, value in (base | row).items()}
    return {member: value for member, value in whole.items() if value is not None}


def _completed(base: Any, value: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(value, dict):
        return value
    return {member: each for member, each in (base | value).items() if each is not None}


def _stored(row: Row, common: Common) -> Row | str:
    left = _left(row, common)
    return str(row["id"]) if left.keys() == {"id"} else left


def _left(row: Row, common: Common) -> Row:
    """Return the members in which a row differs from its base."""
    shared = common[_chapter(row)]
    expected = bool(shared) and shared[0]["verdict"] == row["verdict"]
    base = _base(row, shared)
    said = {"id": row["id"]} | ({} if expected else {"verdict": row["verdict"]})
    left = {member: _apart(base.get(member), value) for member, value in row.items()}
    given = {member: value for member, value in left.items() if member not in base or value != {}}
    return said | given | {member: None for member in base if member not in row}


def _apart(base: Any, value: Any) -> Any:
    """Return the difference that turns a base into a value, ``{}`` if they are the same."""
    if _same(base, value):
        return {}
    if not isinstance(base, dict) or not isinstance(value, dict):
        return value
    left = {member: each for member, each in value.items() if member not in base or not _same(base[member], each)}
    return left | {member: None for member in base if member not in value}


def _base(row: Row, shared: Sequence[Row]) -> Row:
    """Return the base of a row: the shared members for its outcome, with its name filled in."""
    found = next((each for each in shared if row.get("verdict") in {None, each["verdict"]}), {})
    return {"id": row["id"], "chapter": _chapter(row)} | dict(_replaced(found, NAME, _name(row)))


def _shared(rows: Sequence[Row]) -> Row:
    """Return the outcome of the rows, and the members that more than half of them share."""
    counted = Counter(
        (path, json.dumps(_replaced(value, _name(row), NAME)))
        for row in rows
        for path, value in _members(row)
        if NAME not in json.dumps(value)
    )
    shared: Row = {"verdict": rows[0]["verdict"]}
    for (path, text), number in counted.items():
        if 2 * number > len(rows):
            *outer, member = path
            (shared.setdefault(outer[0], {}) if outer else shared)[member] = json.loads(text)
    return shared


def _members(row: Row) -> Iterable[tuple[tuple[str, ...], Any]]:
    """Yield the values that can be shared, each with its path."""
    for member, value in row.items():
        if isinstance(value, dict):
            yield from (((member, inner), each) for inner, each in value.items())
        elif member not in {"id", "chapter", "verdict"}:
            yield (member,), value


def _replaced(value: Any, old: str, new: str) -> Any:
    """Return a value with ``old`` replaced by ``new`` in all texts in it."""
    match value:
        case str():
            return value.replace(old, new)
        case list():
            return [_replaced(each, old, new) for each in value]
        case dict():
            return {key: _replaced(each, old, new) for key, each in value.items()}
    return value


def _same(one: Any, other: Any) -> bool:
    """Return True if two values are the same as JSON, in which True is not 1."""
    return json.dumps(one) == json.dumps(other)


def _chapter(row: Row) -> str:
    return str(row["id"]).partition("/")[0]


def _name(row: Row) -> str:
    return str(row["id"]).partition("/")[2]
