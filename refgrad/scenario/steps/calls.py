"""The validation of an applied operator against its row: its name, arguments and attributes."""

from __future__ import annotations

from collections.abc import Mapping

from refgrad.errors import suggestion
from refgrad.operators import Operator
from refgrad.scenario.errors import ScenarioError, quoted
from refgrad.scenario.steps.sequences import Attributes


def check_call(name: str, arguments: int, attributes: Attributes, operators: Mapping[str, Operator]) -> None:
    """Raise ScenarioError for an unknown operator, a wrong number of arguments, and unknown or missing attributes."""
    operator = operators.get(name)
    if operator is None:
        raise ScenarioError(f"unknown operator {quoted(name)}{suggestion(name, operators)}")
    _check_arguments(operator, arguments)
    _check_attributes(operator, attributes)


def _check_arguments(operator: Operator, count: int) -> None:
    wanted = len(operator.arguments)
    if count == wanted:
        return
    variadic = any(argument.variadic for argument in operator.arguments)
    if not variadic or count < wanted:
        least = "at least " if variadic else ""
        raise ScenarioError(
            f"operator {operator.name!r} takes {least}{wanted} argument{'s' * (wanted != 1)}, not {count}"
        )


def _check_attributes(operator: Operator, attributes: Attributes) -> None:
    if not attributes and not operator.attributes:
        return
    known = {attribute.name: attribute for attribute in operator.attributes}
    given = dict(attributes)
    for name in sorted(given.keys() - known.keys()):
        close = suggestion(name, known)
        raise ScenarioError(f"operator {operator.name!r} has no attribute {quoted(name)}{close}")
    for name, attribute in known.items():
        if attribute.required and name not in given:
            raise ScenarioError(f"operator {operator.name!r} needs attribute {name!r}")
