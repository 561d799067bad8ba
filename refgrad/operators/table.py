"""What is an operator, and which operators are there? The rows of ``specs/operators/*.toml`` as values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from refgrad.operators.expression import Expression, ExpressionError
from refgrad.operators.structure import Structure
from refgrad.operators.structures import STRUCTURES
from refgrad.specification import specs_directory

Operands = Literal["any", "broadcast", "matmul", "same", "join"]
AttributeType = Literal[
    "axis", "new_axis", "unit_axis", "axes", "bool", "float", "shape", "broadcast_shape", "any_shape",
    "permutation", "index", "indices",
]  # fmt: skip
Batching = Literal["trailing", "gather", "loop"]
REQUIRED = object()


class OperatorError(ValueError):
    """A row of the operator table is malformed; the message names the file, the row and what is wrong."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An array that an operator takes; a variadic one stands for one or more arrays."""

    name: str
    dtype: Literal["float", "bool"] = "float"
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Attribute:
    """A plain value that an operator takes beside its arrays."""

    name: str
    type: AttributeType
    default: Any = REQUIRED

    @property
    def required(self) -> bool:
        """Whether a scenario has to give it."""
        return self.default is REQUIRED


@dataclass(frozen=True, slots=True)
class Edge:
    """A set of points where the derivative is a convention (kink) or a limit, with the reason for what is expected.

    ``where`` is the condition on the arguments; ``examples`` are points that meet it; ``subdifferential`` gives the
    legal interval of each partial there, and ``reference`` what the reference engine answers. At a limit ``value`` is
    the operator's own, and a partial that is not stated does not exist.
    """

    kind: Literal["kink", "limit"]
    where: str
    reason: str
    examples: tuple[Mapping[str, float], ...]
    subdifferential: Mapping[str, tuple[float, float]]
    reference: Mapping[str, float]
    value: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """One row of the table. Elementwise rows have a formula; the others name a :class:`Structure`."""

    name: str
    family: str
    summary: str
    arguments: tuple[Argument, ...]
    attributes: tuple[Attribute, ...] = ()
    operands: Operands = "any"
    formula: Expression | None = None
    forward: Expression | None = None
    partials: Mapping[str, Expression] = field(default_factory=dict)
    domain: Expression | None = None
    samples: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    structure: Structure | None = None
    batching: Batching = "loop"
    edges: tuple[Edge, ...] = ()
    aliases: tuple[str, ...] = ()
    source: str = ""

    @property
    def elementwise(self) -> bool:
        """Whether the operator is a formula applied entry by entry, with broadcasting."""
        return self.formula is not None

    @property
    def kinks(self) -> tuple[Edge, ...]:
        """The edges at which the derivative is a convention; at the others it is a limit."""
        return tuple(edge for edge in self.edges if edge.kind == "kink")

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Names of the arrays, in order."""
        return tuple(argument.name for argument in self.arguments)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Names of the plain values, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def differentiable_arguments(self) -> tuple[str, ...]:
        """Names of the arrays that may receive a cotangent."""
        return tuple(argument.name for argument in self.arguments if argument.dtype == "float")

    def bind(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in the defaults, in the row's order; unknown or missing names are an error."""
        unknown = set(attributes) - set(self.attribute_names)
        if unknown:
            message = f"operator {self.name!r} has no attribute {min(unknown)!r}; it has {list(self.attribute_names)}"
            raise OperatorError(message)
        bound = {attribute.name: attributes.get(attribute.name, attribute.default) for attribute in self.attributes}
        missing = [name for name, value in bound.items() if value is REQUIRED]
        if missing:
            message = f"operator {self.name!r} needs the attribute {missing[0]!r}"
            raise OperatorError(message)
        return bound

    def saves(self, argument: str) -> frozenset[str]:
        """Which values (arguments by name, the output as ``out``) the rule for ``argument`` has to keep."""
        if self.structure is not None:
            return frozenset(self.structure.saves.get(argument, ()))
        if argument not in self.partials:
            return frozenset()
        return self.partials[argument].names - set(self.attribute_names)


@cache
def operator_table() -> Mapping[str, Operator]:
    """All operators by name, in the order of the files.

    Raises :class:`OperatorError` where a row is malformed.
    """
    return load_operators(specs_directory() / "operators")


def load_operators(directory: Path) -> Mapping[str, Operator]:
    """Read every ``*.toml`` file of ``directory``; the file's name is the operators' family."""
    table: dict[str, Operator] = {}
    for path in sorted(directory.glob("*.toml")):
        try:
            rows = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            message = f"{path.name}: {error}"
            raise OperatorError(message) from error
        for name, row in rows.items():
            if name in table:
                message = f"{path.name}: operator {name!r} is already in {table[name].family}.toml"
                raise OperatorError(message)
            table[name] = _RowReader(path, name, row).operator()
    return MappingProxyType(table)


@dataclass(frozen=True, slots=True)
class _RowReader:
    """Reads one row, key by key, and refuses what it does not know."""

    path: Path
    name: str
    row: Mapping[str, Any]

    def error(self, problem: str) -> OperatorError:
        return OperatorError(f"{self.path.name}: operator {self.name!r}: {problem}")

    def operator(self) -> Operator:
        known = {
            "summary", "arguments", "attributes", "operands", "formula", "forward", "partials", "domain", "samples",
            "batching", "edges", "aliases", "source",
        }  # fmt: skip
        unknown = set(self.row) - known
        if unknown:
            raise self.error(f"unknown key {min(unknown)!r}; a row has {sorted(known)}")
        arguments = tuple(self.argument(text) for text in self.row.get("arguments", ["x"]))
        operator = Operator(
            name=self.name,
            family=self.path.stem,
            summary=self.text("summary"),
            arguments=arguments,
            attributes=tuple(self.attributes()),
            operands=self.row.get("operands", "broadcast" if len(arguments) > 1 else "any"),
            formula=self.expression(self.row.get("formula")),
            forward=self.expression(self.row.get("forward", self.row.get("formula"))),
            partials=MappingProxyType({k: self.required(v) for k, v in self.row.get("partials", {}).items()}),
            domain=self.expression(self.row.get("domain")),
            samples=MappingProxyType({k: (float(a), float(b)) for k, (a, b) in self.row.get("samples", {}).items()}),
            structure=None if "formula" in self.row else self.structure(),
            batching=self.row.get("batching", "loop"),
            edges=tuple(self.edges()),
            aliases=tuple(self.row.get("aliases", ())),
            source=self.row.get("source", ""),
        )
        self.check(operator)
        return operator

    def check(self, operator: Operator) -> None:
        if not operator.elementwise:
            return
        allowed = {*operator.argument_names, *operator.attribute_names}
        for expression in (operator.formula, operator.forward, operator.domain):
            if expression is not None and expression.names - allowed:
                raise self.error(f"{expression.source!r} uses {min(expression.names - allowed)!r}")
        if set(operator.partials) != set(operator.differentiable_arguments):
            raise self.error(f"needs a partial for each of {list(operator.differentiable_arguments)}")
        for expression in operator.partials.values():
            if expression.names - allowed - {"out"}:
                raise self.error(f"{expression.source!r} uses {min(expression.names - allowed - {'out'})!r}")
        if set(operator.samples) != set(operator.differentiable_arguments):
            raise self.error(f"needs a sample range for each of {list(operator.differentiable_arguments)}")

    def text(self, key: str) -> str:
        value = self.row.get(key)
        if not isinstance(value, str) or not value:
            raise self.error(f"{key!r} has to be a text")
        return value

    def required(self, source: str) -> Expression:
        try:
            return Expression(str(source))
        except ExpressionError as error:
            raise self.error(str(error)) from error

    def expression(self, source: str | None) -> Expression | None:
        return None if source is None else self.required(source)

    def structure(self) -> Structure:
        if self.name not in STRUCTURES:
            raise self.error("has no formula, and refgrad.operators.structures has no function of that name")
        return STRUCTURES[self.name]

    def argument(self, text: str) -> Argument:
        name, _, dtype = text.partition(":")
        if dtype not in {"", "float", "bool"}:
            raise self.error(f"argument {name!r} has the dtype {dtype!r}; it may be float or bool")
        return Argument(name.lstrip("*"), "bool" if dtype == "bool" else "float", variadic=name.startswith("*"))

    def attributes(self) -> Iterator[Attribute]:
        for name, declared in self.row.get("attributes", {}).items():
            if isinstance(declared, str):
                yield Attribute(name, declared)  # type: ignore[arg-type]
            else:
                default = None if declared.get("default") == "none" else declared.get("default", REQUIRED)
                yield Attribute(name, declared["type"], default)

    def edges(self) -> Iterator[Edge]:
        for edge in self.row.get("edges", []):
            try:
                yield Edge(
                    kind=edge["kind"],
                    where=edge["where"],
                    reason=edge["reason"],
                    examples=tuple(MappingProxyType(dict(point)) for point in edge["examples"]),
                    subdifferential=MappingProxyType({k: (a, b) for k, (a, b) in edge["subdifferential"].items()}),
                    reference=MappingProxyType(dict(edge["reference"])),
                    value=edge.get("value"),
                )
            except KeyError as error:
                raise self.error(f"an edge lacks {error}") from error
