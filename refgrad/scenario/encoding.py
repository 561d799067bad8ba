"""The JSON form of a list of steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from refgrad.scenario.errors import ScenarioError
from refgrad.scenario.schema import SCHEMA_NAME, check_document, kind_of_step
from refgrad.scenario.steps.step import Step


def encode_steps(steps: Iterable[Step]) -> dict[str, Any]:
    """Return the JSON form of steps. Numbers are strings, as in the text form."""
    return {"schema": SCHEMA_NAME, "steps": [{"step": step.form.tag, **step.to_json()} for step in steps]}


def decode_steps(document: Any) -> tuple[Step, ...]:
    """Return the steps of a JSON form. Raises ScenarioError naming the step, counted from 1."""
    check_document(document)
    return tuple(_decode_step(number, step) for number, step in enumerate(document["steps"], start=1))


def _decode_step(number: int, members: Any) -> Step:
    try:
        return kind_of_step(members).from_json(members)
    except ScenarioError as error:
        raise ScenarioError(error.rule, step=number) from None
