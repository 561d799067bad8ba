"""The JSON form of steps, in which the corpus holds scenarios: see `specs/schema/scenario.schema.json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from refgrad.scenario import AttributeValue, Constant, Leaf, Scenario, Slice, Step, ZeroGrad
from refgrad.scenario.kinds import STEPS
from refgrad.scenario.tokens import read_float, write_float

KINDS: Final = {kind.form.tag: kind for kind in STEPS}


def steps_of(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the steps of a scenario: the tag of each, and its fields. Numbers are strings, which keep every bit."""
    return [{"step": step.form.tag, **_members(step)} for step in scenario.steps]


def scenario_of(steps: Iterable[Mapping[str, Any]]) -> Scenario:
    """Return the scenario of steps that satisfy the schema."""
    return Scenario(tuple(_step(members) for members in steps))


def _members(step: Step) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for field in step.form.fields:
        encoded = _encoded(field, getattr(step, field))
        if isinstance(step, Leaf) and field == "value":
            members |= encoded
        elif not (isinstance(step, ZeroGrad) and encoded is False):
            members[field] = encoded
    return members


def _step(members: Mapping[str, Any]) -> Step:
    kind = KINDS[members["step"]]
    known = {"value": members, **members} if kind is Leaf else members
    return kind(**{field: _decoded(field, known[field]) for field in kind.form.fields if field in known})


def _encoded(field: str, value: Any) -> Any:
    match field, value:
        case _, Constant():
            return {"dtype": value.dtype, "shape": list(value.shape), "values": value.words()}
        case "attributes", _:
            return {name: _value(each) for name, each in value}
        case "tangents", _:
            return [{"leaf": leaf, "tangent": _encoded("tangent", tangent)} for leaf, tangent in value]
        case "factor", float():
            return write_float(value)
    return _value(value)


def _decoded(field: str, encoded: Any) -> Any:
    match field, encoded:
        case "value" | "seed" | "tangent", {"dtype": dtype, "shape": shape, "values": values}:
            return Constant.from_words(dtype, tuple(shape), values)
        case "attributes", _:
            return tuple((name, _value_of(each)) for name, each in encoded.items())
        case "tangents", _:
            return tuple((row["leaf"], _decoded("tangent", row["tangent"])) for row in encoded)
        case "factor", str():
            return read_float(encoded)
    return _value_of(encoded)


def _value(value: AttributeValue) -> Any:
    """Return the JSON form: null, true, 3, "s", [1, 2], {"float": "0x1.8p+0"}, {"slice": [1, 5, null]}."""
    match value:
        case tuple():
            return [_value(each) for each in value]
        case float():
            return {"float": write_float(value)}
        case Slice(start, stop, step):
            return {"slice": [start, stop, step]}
    return value


def _value_of(encoded: Any) -> Any:
    match encoded:
        case list():
            return tuple(map(_value_of, encoded))
        case {"float": number}:
            return read_float(number)
        case {"slice": parts}:
            return Slice(*parts)
    return encoded
