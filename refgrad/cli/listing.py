"""``refgrad list`` and ``refgrad explain``: list operators, engines, checks and features, and explain a check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from textwrap import indent
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from refgrad.cli.commands import Listed

if TYPE_CHECKING:
    from refgrad.grading.checks.check import Check
    from refgrad.operators import Operator
    from refgrad.scenario import Scenario

Row = tuple[str, str, str]


def _operators() -> Iterator[Row]:
    from refgrad.operators import operator_table
    from refgrad.operators.table import edge, signature

    for name, operator in operator_table().items():
        where = [] if operator.domain is None else [f"[domain: {operator.domain.source}]"]
        edges = [f"[edge: {edge(each)}]" for each in operator.edges]
        notes = [operator.summary, *where, *edges, f"[source: {operator.source}]"]
        yield name, signature(operator), "  ".join(notes)


def _engines() -> Iterator[Row]:
    from refgrad.native.adapter import AdapterError, engine_version, find_adapter
    from refgrad.native.engine_names import registered_engines

    for name in registered_engines():
        try:
            adapter = find_adapter(name)
        except AdapterError as error:
            yield name, "broken", str(error)
            continue
        version = engine_version(adapter)
        state = f"not installed: {adapter.distribution}" if version == "unknown" else "installed"
        yield name, "-" if version == "unknown" else version, state


def _checks() -> Iterator[Row]:
    from refgrad.grading.checks.families import all_checks

    yield from ((check.id, check.level, check.statement) for check in all_checks())


def _features() -> Iterator[Row]:
    from refgrad.native.adapter import FEATURES

    yield from ((name, "", meaning) for name, meaning in FEATURES.items())


LISTS: Final[Mapping[Listed, Callable[[], Iterator[Row]]]] = MappingProxyType({
    "operators": _operators,
    "engines": _engines,
    "checks": _checks,
    "features": _features,
})


def show_list(what: Listed) -> None:
    """Print all items of a kind, one per line."""
    rows = list(LISTS[what]())
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for first, second, third in rows:
        cells = [first.ljust(widths[0]), *([second.ljust(widths[1])] if widths[1] else []), third]
        click.echo("  ".join(cells))


def explain_check(name: str) -> None:
    """Print what a check requires of an engine, why, and how it is tested, which needs no engine."""
    from refgrad.grading.checks.families import check_named
    from refgrad.pytest_plugin import ITEM

    check = check_named(name.removeprefix(ITEM))
    click.echo("\n".join([f"{check.id} ({check.level})", check.statement, *_about(check)]))


def _about(check: Check) -> Iterator[str]:
    from refgrad.grading.checks.behaviour_checks import BehaviourCheck
    from refgrad.grading.checks.claims import Claim
    from refgrad.operators import operator_table

    if isinstance(check, BehaviourCheck):
        yield f"why:       {check.behaviour.rationale}"
        yield f"source:    {check.behaviour.source}"
        yield f"tested by: {check.behaviour.tested_by}"
        yield from _scenarios(check.behaviour.scenarios)
    if isinstance(check, Claim):
        yield from _scenarios(check.scenarios)
    if check.operator_name:
        yield from _operator(operator_table()[check.operator_name])
    if check.draws:
        yield "tested by: scenarios that are drawn, from the seed of the run"


def _scenarios(scenarios: tuple[Scenario, ...]) -> Iterator[str]:
    for scenario in scenarios:
        yield f"\nscenario {scenario.id}:\n{indent(scenario.text.rstrip(), '    ')}"


def _operator(operator: Operator) -> Iterator[str]:
    from refgrad.operators.table import edge, signature

    yield f"operator:  {operator.name}{signature(operator)}: {operator.summary}"
    if operator.formula is not None:
        yield f"formula:   {operator.formula.source}"
    for argument, partial in operator.partials.items():
        yield f"d/d{argument}:      {partial.source}"
    if operator.domain is not None:
        yield f"domain:    {operator.domain.source}"
    for each in operator.edges:
        yield f"edge:      {edge(each)}: {each.reason}"
    yield f"source:    {operator.source}"
