"""The coverage of an engine, as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

WIDTH: Final = 120


def coverage_text(document: Mapping[str, Any]) -> str:
    """Return the rows that an engine has and lacks, and its own operators that no row reaches."""
    return "\n".join(_lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    families = document["families"]
    has = sum(len(family["has"]) for family in families.values())
    total = has + sum(len(family["lacks"]) for family in families.values())
    yield f"{document['engine']} {document['version']}: has {has} of the {total} operators of the table"
    width = max(map(len, families))
    for name, family in families.items():
        yield from _wrapped(f"  {name.ljust(width)}  ", _family(family["has"], family["lacks"]), width + 4)
    yield ""
    if "not_asked" in document:
        yield f"  Its inventory, {document['not_asked']}, is asked without --python alone."
    elif not document["inventories"]:
        yield "  It has no inventory: which of its own operators the table lacks is not known."
    for inventory in document["inventories"]:
        yield from _inventory(inventory)


def _family(has: Sequence[str], lacks: Sequence[str]) -> str:
    """Return how many rows of a family an engine has, and the shorter list of those that it has or lacks."""
    count = f"{len(has)} of {len(has) + len(lacks)}"
    if not has or not lacks:
        return count
    names = ["has", *has] if len(has) < len(lacks) else ["lacks", *lacks]
    return f"{count}, {' '.join(names)}"


def _inventory(inventory: Mapping[str, Any]) -> Iterator[str]:
    reached, lacking, others = inventory["reached"], inventory["lacking"], _unreached_names(inventory)
    total = len(reached) + len(lacking)
    yield f"  Of its {total} {inventory['title']}, rows reach {len(reached)}, and these {len(lacking)} no row reaches:"
    yield from _wrapped("    ", " ".join(lacking) or "-", 4)
    if others:
        yield from _wrapped(f"    other names of those that rows reach ({len(others)}): ", " ".join(others), 6)
    for key in ("rows_that_reach_none", "rows_that_were_refused"):
        if inventory[key]:
            yield from _wrapped(f"    {key.replace('_', ' ')} ({len(inventory[key])}): ", " ".join(inventory[key]), 6)
    for why, names in inventory["undecided"].items():
        yield f"    not known to be differentiable ({len(names)}): {why}"
    for why, names in inventory["apart"].items():
        yield f"    not counted ({len(names)}): {why}"
    yield ""


def _unreached_names(inventory: Mapping[str, Any]) -> Sequence[str]:
    """Return the names that no row reaches, of operators that rows reach under another name."""
    return [name for name, other in inventory["other_names"].items() if other in inventory["reached"]]


def _wrapped(head: str, text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=head, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
