"""Verdicts as a report stores them: what most of a chapter's verdicts share is said once.

A row that is stored holds what sets a verdict apart. What it leaves out stands in ``common``, by chapter and verdict,
in which ``{name}`` stands for what follows the slash of the verdict's id. Evidence is completed member by member, all
else is taken as it stands, and what is null is left out. A row without a verdict has the one that ``common`` has first,
and one that nothing sets apart is its id alone.
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
    """Return what the verdicts of each chapter share, those of its most frequent verdict first, and what is left."""
    groups: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        groups.setdefault(_chapter(row), {}).setdefault(row["verdict"], []).append(row)
    common = {
        chapter: [_shared(group) for group in sorted(by_verdict.values(), key=len, reverse=True) if len(group) > 1]
        for chapter, by_verdict in groups.items()
    }
    return {chapter: shared for chapter, shared in common.items() if shared}, [_stored(row, common) for row in rows]


def unpacked(common: Mapping[str, Sequence[Row]], rows: Iterable[Row | str]) -> list[Row]:
    """Return the verdicts that ``packed`` was given. The arguments are those of a report that satisfies its schema."""
    objects = [{"id": row} if isinstance(row, str) else row for row in rows]
    return [_whole(row, _base(row, common.get(_chapter(row), ()))) for row in objects]


def unpacked_size(common: Mapping[str, Sequence[Row]], rows: Iterable[Row | str]) -> int:
    """Return an upper bound of the characters that verdicts take from ``common``; each may repeat a verdict's name."""
    sizes = {chapter: len(json.dumps(shared)) for chapter, shared in common.items()}
    names = [row if isinstance(row, str) else row["id"] for row in rows]
    return sum(sizes.get(name.partition("/")[0], 0) * len(name) for name in names)


def _whole(row: Row, base: Row) -> Row:
    """Return a row with what it leaves out."""
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
    """Return what sets a row apart from what completes it."""
    shared = common[_chapter(row)]
    expected = bool(shared) and shared[0]["verdict"] == row["verdict"]
    base = _base(row, shared)
    said = {"id": row["id"]} | ({} if expected else {"verdict": row["verdict"]})
    left = {member: _apart(base.get(member), value) for member, value in row.items()}
    given = {member: value for member, value in left.items() if member not in base or value != {}}
    return said | given | {member: None for member in base if member not in row}


def _apart(base: Any, value: Any) -> Any:
    """Return what completes a value's base to the value, ``{}`` where that is nothing."""
    if _same(base, value):
        return {}
    if not isinstance(base, dict) or not isinstance(value, dict):
        return value
    left = {member: each for member, each in value.items() if member not in base or not _same(base[member], each)}
    return left | {member: None for member in base if member not in value}


def _base(row: Row, shared: Sequence[Row]) -> Row:
    """Return what completes a stored row."""
    found = next((each for each in shared if row.get("verdict") in {None, each["verdict"]}), {})
    return {"id": row["id"], "chapter": _chapter(row)} | dict(_replaced(found, NAME, _name(row)))


def _shared(rows: Sequence[Row]) -> Row:
    """Return the verdict of some rows, and the members that more than half of them have."""
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
    """Yield what can be shared, with the members that lead there."""
    for member, value in row.items():
        if isinstance(value, dict):
            yield from (((member, inner), each) for inner, each in value.items())
        elif member not in {"id", "chapter", "verdict"}:
            yield (member,), value


def _replaced(value: Any, old: str, new: str) -> Any:
    """Return a value with one text in place of another wherever there are texts."""
    match value:
        case str():
            return value.replace(old, new)
        case list():
            return [_replaced(each, old, new) for each in value]
        case dict():
            return {key: _replaced(each, old, new) for key, each in value.items()}
    return value


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same as JSON, in which True is not 1."""
    return json.dumps(one) == json.dumps(other)


def _chapter(row: Row) -> str:
    return str(row["id"]).partition("/")[0]


def _name(row: Row) -> str:
    return str(row["id"]).partition("/")[2]
