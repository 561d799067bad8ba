"""``refgrad explain``: print what a check requires of an engine, why, and how it is tested."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

import click

from refgrad.grading.checks.behaviour_checks import BehaviourCheck
from refgrad.grading.checks.behaviours import Behaviour
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.claims import ClaimCheck
from refgrad.grading.checks.families import check_named
from refgrad.operators import Operator, operator_table
from refgrad.operators.table import domain, edge, signature
from refgrad.pytest_plugin.options import ITEM
from refgrad.scenario import Scenario


def explain_check(name: str) -> None:
    """Print the description of a check, which needs no engine."""
    check = check_named(name.removeprefix(ITEM))
    click.echo(f"{check.id} ({check.level})\n{check.statement}")
    for line in _about(check):
        click.echo(line)


def _about(check: Check) -> Iterator[str]:
    if isinstance(check, BehaviourCheck):
        yield from _behaviour(check.behaviour)
    if isinstance(check, ClaimCheck):
        yield from _scenarios(check.claim.scenarios)
    if check.operator_name:
        yield from _operator(operator_table()[check.operator_name])
    if check.draws:
        yield "tested by: scenarios that are drawn, from the seed of the run"


def _behaviour(behaviour: Behaviour) -> Iterator[str]:
    yield f"why:       {behaviour.rationale}"
    yield f"source:    {behaviour.source}"
    yield f"tested by: {behaviour.tested_by}"
    yield from _scenarios(behaviour.scenarios)


def _scenarios(scenarios: tuple[Scenario, ...]) -> Iterator[str]:
    for scenario in scenarios:
        yield f"\nscenario {scenario.id}:\n{indent(scenario.text.rstrip(), '    ')}"


def _operator(operator: Operator) -> Iterator[str]:
    yield f"operator:  {operator.name}{signature(operator)}: {operator.summary}"
    if operator.formula is not None:
        yield f"formula:   {operator.formula.source}"
    for argument, partial in operator.partials.items():
        yield f"d/d{argument}:      {partial.source}"
    if operator.domain is not None:
        yield f"domain:    {domain(operator)}"
    for each in operator.edges:
        yield f"edge:      {edge(each)}: {each.reason}"
    yield f"source:    {operator.source}"
