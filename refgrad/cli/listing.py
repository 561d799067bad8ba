"""``refgrad list``: list operators, engines, checks and features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import click

from refgrad.cli.failure import told_in_one_line
from refgrad.grading.checks.families import all_checks
from refgrad.native.adapter import FEATURES, AdapterError, engine_version, find_adapter, registered_engines
from refgrad.operators import Operator, operator_table
from refgrad.operators.signature import domain, edge, signature

Row = tuple[str, str, str]


def _operators() -> Iterator[Row]:
    for name, operator in operator_table().items():
        yield name, signature(operator), "  ".join(_told(operator))


def _told(operator: Operator) -> Iterator[str]:
    yield operator.summary
    if operator.domain is not None:
        yield f"[domain: {domain(operator)}]"
    yield from (f"[edge: {edge(found)}]" for found in operator.edges)
    yield f"[source: {operator.source}]"


def _engines() -> Iterator[Row]:
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
    for check in all_checks():
        yield check.id, check.level, check.statement


def _features() -> Iterator[Row]:
    for name, meaning in FEATURES.items():
        yield name, "", meaning


LISTS: Final[Mapping[str, Callable[[], Iterator[Row]]]] = MappingProxyType({
    "operators": _operators,
    "engines": _engines,
    "checks": _checks,
    "features": _features,
})


@click.command(name="list")
@click.argument("what", type=click.Choice(list(LISTS)))
def listing(what: str) -> None:
    """Show what there is, one a line: name, signature or version or level, meaning."""
    with told_in_one_line():
        rows = list(LISTS[what]())
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for first, second, third in rows:
        cells = [first.ljust(widths[0]), *([second.ljust(widths[1])] if widths[1] else []), third]
        click.echo("  ".join(cells))
