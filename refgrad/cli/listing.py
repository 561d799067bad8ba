"""``refgrad list``: list operators, engines, checks and features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import click

from refgrad.cli.commands import Listed
from refgrad.cli.failure import errors_in_one_line

Row = tuple[str, str, str]


def _operators() -> Iterator[Row]:
    from refgrad.operators import operator_table
    from refgrad.operators.table import domain, edge, signature

    for name, operator in operator_table().items():
        where = [] if operator.domain is None else [f"[domain: {domain(operator)}]"]
        edges = [f"[edge: {edge(each)}]" for each in operator.edges]
        notes = [operator.summary, *where, *edges, f"[source: {operator.source}]"]
        yield name, signature(operator), "  ".join(notes)


def _engines() -> Iterator[Row]:
    from refgrad.native.adapter import AdapterError, engine_version, find_adapter, registered_engines

    for name in registered_engines():
        try:
            adapter = find_adapter(name)
        except AdapterError as error:
            yield name, "broken", str(error)
            continue
        version = engine_version(adapter)
        installed = version != "unknown"
        yield (
            name,
            version if installed else "-",
            "installed" if installed else f"not installed: {adapter.distribution}",
        )


def _checks() -> Iterator[Row]:
    from refgrad.grading.checks.families import all_checks

    for check in all_checks():
        yield check.id, check.level, check.statement


def _features() -> Iterator[Row]:
    from refgrad.native.adapter import FEATURES

    for name, meaning in FEATURES.items():
        yield name, "", meaning


LISTS: Final[Mapping[Listed, Callable[[], Iterator[Row]]]] = MappingProxyType({
    "operators": _operators,
    "engines": _engines,
    "checks": _checks,
    "features": _features,
})


def show_list(what: Listed) -> None:
    """Print all items of a kind, one per line."""
    with errors_in_one_line():
        rows = list(LISTS[what]())
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for first, second, third in rows:
        cells = [first.ljust(widths[0]), *([second.ljust(widths[1])] if widths[1] else []), third]
        click.echo("  ".join(cells))
