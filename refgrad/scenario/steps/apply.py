"""How does a scenario apply an operator?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Self

from refgrad.operators import Operator
from refgrad.scenario.attributes import AttributeValue, check_value, decode_value, encode_value, read_value, write_value
from refgrad.scenario.errors import ScenarioError, check_type, quoted, suggestion
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.step import Scope, Step
from refgrad.scenario.tokens import Cursor


@dataclass(frozen=True, slots=True, eq=False)
class Apply(Step):
    """Apply an operator to tensors: `s = sum b axis=(0,) keepdims=true`.

    Attributes may be given in any order and are kept sorted by name. Equality is that of the lines, since Python's
    own holds that 1, 1.0 and True are equal, as are 0.0 and -0.0, and that NaN differs from NaN.
    """

    name: str
    operator: str
    arguments: tuple[str, ...]
    attributes: tuple[tuple[str, AttributeValue], ...] = ()

    tag: ClassVar[str] = "apply"
    keyword: ClassVar[str] = ""
    assigns: ClassVar[bool] = True
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "name": {"$ref": "#/$defs/name"},
            "operator": {"$ref": "#/$defs/name"},
            "arguments": {"type": "array", "items": {"$ref": "#/$defs/name"}},
            "attributes": {
                "type": "object",
                "propertyNames": {"$ref": "#/$defs/name"},
                "additionalProperties": {"$ref": "#/$defs/attribute"},
            },
        },
    )

    def __post_init__(self) -> None:
        """Check names and values, and sort the attributes."""
        check_identifier(self.name)
        check_identifier(self.operator)
        check_type("arguments", self.arguments, tuple)
        for argument in self.arguments:
            check_identifier(argument)
        check_type("attributes", self.attributes, tuple)
        if self.attributes:
            object.__setattr__(self, "attributes", _sorted_attributes(self.attributes))

    def __eq__(self, other: object) -> bool:
        """Compare the lines."""
        return self.to_text() == other.to_text() if isinstance(other, Apply) else NotImplemented

    def __hash__(self) -> int:
        """Hash the line."""
        return hash(self.to_text())

    @property
    def defines(self) -> str:
        """The result's name."""
        return self.name

    @property
    def uses(self) -> tuple[str, ...]:
        """The arguments."""
        return self.arguments

    def check(self, scope: Scope) -> None:
        """Check the operator, the number of arguments and the names of the attributes, then the names."""
        operator = scope.operators.get(self.operator)
        if operator is None:
            raise ScenarioError(f"unknown operator {quoted(self.operator)}{suggestion(self.operator, scope.operators)}")
        _check_arguments(operator, len(self.arguments))
        _check_attributes(operator, self.attributes)
        Step.check(self, scope)

    def to_text(self) -> str:
        """Return the canonical line."""
        attributes = [f"{name}={write_value(value)}" for name, value in self.attributes]
        return " ".join((self.name, "=", self.operator, *self.arguments, *attributes))

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read `NAME = OPERATOR ARGUMENT... ATTRIBUTE=VALUE...`."""
        name = cursor.take_identifier("a name")
        cursor.expect("=")
        operator = cursor.take_identifier("an operator")
        arguments: list[str] = []
        attributes: list[tuple[str, AttributeValue]] = []
        while not cursor.at_end():
            word = cursor.take_identifier("an argument")
            if cursor.accept("="):
                attributes.append((word, read_value(cursor)))
            elif attributes:
                raise ScenarioError(f"argument {quoted(word)} follows an attribute")
            else:
                arguments.append(word)
        return cls(name, operator, tuple(arguments), tuple(attributes))

    def to_json(self) -> dict[str, Any]:
        """Return name, operator, arguments and attributes."""
        return {
            "name": self.name,
            "operator": self.operator,
            "arguments": list(self.arguments),
            "attributes": {name: encode_value(value) for name, value in self.attributes},
        }

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns."""
        attributes = tuple((name, decode_value(value)) for name, value in members["attributes"].items())
        return cls(members["name"], members["operator"], tuple(members["arguments"]), attributes)


def _sorted_attributes(attributes: tuple[tuple[str, AttributeValue], ...]) -> tuple[tuple[str, AttributeValue], ...]:
    for name, value in attributes:
        check_identifier(name)
        check_value(value)
    ordered = tuple(sorted(attributes, key=lambda pair: pair[0]))
    for (name, _), (following, _) in pairwise(ordered):
        if name == following:
            raise ScenarioError(f"attribute {quoted(name)} is given twice")
    return ordered


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


def _check_attributes(operator: Operator, attributes: tuple[tuple[str, AttributeValue], ...]) -> None:
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
