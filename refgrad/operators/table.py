"""The table of operators: rows from ``specs/operators``, checked when they are loaded, and their descriptions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import starmap
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from refgrad.documents import read_toml
from refgrad.errors import UserError
from refgrad.operators.composites import composite
from refgrad.operators.expression import Formula, FormulaError, formula_of
from refgrad.operators.operator import Composite, Structure
from refgrad.operators.structures import STRUCTURES
from refgrad.specification import specs_directory


def signature(operator: Operator) -> str:
    """Return the arguments and attributes, as ``(x, axis=None, keepdims=False)``."""
    arrays = [f"*{argument.name}" if argument.variadic else argument.name for argument in operator.arguments]
    attributes = [each.name if each.required else f"{each.name}={each.default}" for each in operator.attributes]
    return f"({', '.join(arrays + attributes)})"


def edge(row: Edge) -> str:
    """Return an edge's condition and the legal derivatives there, as ``x == 0: kink, d/dx in [-1, 1]``."""
    legal = [
        f"d/d{name} {f'= {_end(low)}' if low == high else f'in [{_end(low)}, {_end(high)}]'}"
        for name, (low, high) in row.subdifferential.items()
    ]
    return f"{row.where}: {', '.join([row.kind, *legal])}"


def _end(end: float | str) -> str:
    return end if isinstance(end, str) else f"{end:g}"


Operands = Literal["any", "broadcast", "matmul", "same", "join", "pattern"]
AttributeType = Literal[
    "axis", "new_axis", "unit_axis", "axes", "bool", "float", "shape", "broadcast_shape", "any_shape",
    "permutation", "index", "indices", "classes", "int", "real", "option",
    "flat_axis", "scalar_axis", "axis_list", "matching_axes", "axis_pair", "new_axis_pair", "shifts", "pad_width",
    "repeats", "counts", "factors", "expanded_shape", "points", "position", "places", "rows", "flat_places", "mask",
    "writing_index",
]  # fmt: skip
Batching = Literal["trailing", "gather", "loop"]
REQUIRED = object()


class OperatorError(UserError):
    """A row of the operator table is malformed; the message names the file, the row and what is wrong."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An array argument of an operator; a variadic one stands for one or more arrays."""

    name: str
    dtype: Literal["float", "bool"] = "float"
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Attribute:
    """A parameter of an operator that is a plain value, not an array.

    An ``int`` or ``real`` lies in ``bounds``, ends included; an ``option`` is one of ``options``.
    """

    name: str
    type: AttributeType
    default: Any = REQUIRED
    bounds: tuple[float, float] = (0, 0)
    options: tuple[Any, ...] = ()

    @property
    def required(self) -> bool:
        """Return True if a scenario has to specify the attribute."""
        return self.default is REQUIRED


@dataclass(frozen=True, slots=True)
class Edge:
    """A set of points where the derivative is a convention (kink), does not exist (jump) or is a limit.

    ``where`` is the condition on the arguments; ``examples`` are points that satisfy it; ``reason`` explains the
    choice. ``subdifferential`` is the legal interval of each partial, and ``reference`` the partial that the reference
    engine returns. At a kink or a jump these may be formulas of the arguments and attributes. At a jump the operator
    has no derivative: the intervals are those of the slopes on either side, which differentiating the steps of the
    formula can yield. At a limit ``value`` is the operator's value, and a partial that is not stated does not exist.
    ``nan`` names a library that returns NaN there on purpose, with the source; it is empty if NaN is not accepted.
    """

    kind: Literal["kink", "jump", "limit"]
    where: str
    reason: str
    examples: tuple[Mapping[str, float], ...]
    subdifferential: Mapping[str, tuple[float | str, float | str]]
    reference: Mapping[str, float | str]
    value: float | None = None
    nan: str = ""


Convention = Literal["nan", "infinity", "subnormal", "containment"]


@dataclass(frozen=True, slots=True)
class Exceptional:
    """The conventions left to engines where an operand is NaN, infinite or subnormal, with the reason.

    ``nan``: a result that depends on NaN need not be NaN. ``infinity``: the result at infinity need not be the limit.
    ``subnormal``: such numbers may be treated as others. ``containment``: an operand that is not finite may affect
    results that do not depend on it.
    """

    conventions: frozenset[Convention] = frozenset()
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """One row of the table. Elementwise rows have a formula; others are a :class:`Structure` or a :class:`Composite`.

    ``samples`` are the ranges that operands are drawn from. ``stress_values`` (key ``beyond`` of a row) lie outside of
    these ranges, and are used where the operator is applied in isolation: negative divisors, for example, or numbers at
    which the steps of a naive formula overflow.

    ``shapes`` holds one pattern per operand if the shapes are related, as ``"... n k"`` and ``"... k m"``. A letter
    stands for a length, a number for itself, and ``...`` for any axes, the same ones in every pattern.

    ``forward`` is the formula by which the reference engine computes ``formula``. ``rounding`` is one that engines may
    use, where good libraries round more than ``forward`` does; it is ``forward`` unless the row states it.
    """

    name: str
    family: str
    summary: str
    arguments: tuple[Argument, ...]
    attributes: tuple[Attribute, ...] = ()
    operands: Operands = "any"
    shapes: tuple[str, ...] = ()
    formula: Formula | None = None
    forward: Formula | None = None
    rounding: Formula | None = None
    partials: Mapping[str, Formula] = field(default_factory=dict)
    tails: Mapping[str, Formula] = field(default_factory=dict)
    domain: Formula | None = None
    samples: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    stress_values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    structure: Structure | None = None
    composite: Composite | None = None
    batching: Batching = "loop"
    edges: tuple[Edge, ...] = ()
    exceptional: Exceptional = Exceptional()
    aliases: tuple[str, ...] = ()
    source: str = ""

    @property
    def elementwise(self) -> bool:
        """Return True if the operator is a formula applied entry by entry, with broadcasting."""
        return self.formula is not None

    @property
    def kinks(self) -> tuple[Edge, ...]:
        """Edges at which the derivative is a convention or does not exist; at the other edges it is a limit."""
        return tuple(edge for edge in self.edges if edge.kind != "limit")

    @property
    def pattern_rank(self) -> int:
        """Number of axes that the longest pattern names; 0 without patterns."""
        return max((len(pattern.replace("...", "").split()) for pattern in self.shapes), default=0)

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Names of the array arguments, in order."""
        return tuple(argument.name for argument in self.arguments)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Names of the attributes, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the array arguments and of the attributes, in order."""
        return (*self.argument_names, *self.attribute_names)

    @property
    def differentiable_arguments(self) -> tuple[str, ...]:
        """Names of the array arguments that may receive a cotangent."""
        return tuple(argument.name for argument in self.arguments if argument.dtype == "float")

    def vanishes(self, argument: str) -> bool:
        """Return True if the partial by an argument is zero everywhere, as for a step function."""
        return argument in self.partials and self.partials[argument].source == "0"

    def span(self, argument: str) -> tuple[float, float]:
        """Return the smallest and the largest number in the argument's samples, stress values and edge examples.

        An argument without samples has the span (-inf, inf).
        """
        if argument not in self.samples:
            return -math.inf, math.inf
        examples = (example.get(argument) for edge in self.edges for example in edge.examples)
        numbers = [number for number in examples if isinstance(number, int | float)]
        numbers += [*self.samples[argument], *self.stress_values.get(argument, ())]
        return min(numbers), max(numbers)

    def compiled(self, formula: Formula, system: Mapping[str, Any]) -> Callable[..., Any]:
        """Return a formula of the arguments and attributes as a function in a number system."""
        return formula.function(self.parameters, system)

    def on_arrays(self, system: Mapping[str, Any]) -> Callable[..., Any]:
        """Return the operator, which is no composite, as a function of NumPy arrays with attributes by name.

        ``system`` holds the functions that formulas call.
        """
        if self.structure is not None:
            return self.structure.forward(np)
        assert self.forward is not None
        return self.compiled(self.forward, system)

    def bind(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes and defaults, in the row's order. Raises OperatorError for unknown or missing names."""
        if not attributes and not self.attributes:
            return {}
        defaults = _defaults(self)
        bound = {**defaults, **attributes}
        if len(bound) > len(defaults):
            unknown = bound.keys() - defaults.keys()
            known = list(self.attribute_names)
            raise OperatorError(f"operator {self.name!r} has no attribute {min(unknown)!r}; it has {known}")
        missing = [name for name, value in bound.items() if value is REQUIRED]
        if missing:
            raise OperatorError(f"operator {self.name!r} needs the attribute {missing[0]!r}")
        return bound

    @cache  # noqa: B019 (the rows of the table live as long as the process)
    def saves(self, argument: str) -> frozenset[str]:
        """Return the values (arguments by name, the output as ``out``) that the rule for ``argument`` needs.

        A composite has no rule: any of its arguments may be saved, and none has to be.
        """
        if self.structure is not None:
            return frozenset(self.structure.saves.get(argument, ()))
        if self.composite is not None:
            return frozenset(self.differentiable_arguments)
        if argument not in self.partials:
            return frozenset()
        return self.partials[argument].names - set(self.attribute_names)


@cache
def _defaults(operator: Operator) -> Mapping[str, Any]:
    """Return the defaults of an operator's attributes, in the row's order."""
    return MappingProxyType({attribute.name: attribute.default for attribute in operator.attributes})


@cache
def operator_table() -> Mapping[str, Operator]:
    """Return all operators by name, in the order of the files.

    Raises :class:`OperatorError` if a row is malformed.
    """
    return load_operators(specs_directory() / "operators")


def load_operators(directory: Path) -> Mapping[str, Operator]:
    """Read every ``*.toml`` file of ``directory``; the file's name is the operators' family."""
    table: dict[str, Operator] = {}
    for path in sorted(directory.glob("*.toml")):
        for name, row in read_toml(path, "operators", OperatorError).items():
            if name in table:
                raise OperatorError(f"{path}: {name}: the operator is already in {table[name].family}.toml")
            reader = _RowReader(path, name, row)
            try:
                table[name] = reader.operator()
            except FormulaError as error:
                raise reader.error(str(error)) from error
    return MappingProxyType(table)


@dataclass(frozen=True, slots=True)
class _RowReader:
    """Reads one row that satisfies the schema, and raises OperatorError if its fields are inconsistent."""

    path: Path
    name: str
    row: Mapping[str, Any]

    def error(self, problem: str) -> OperatorError:
        return OperatorError(f"{self.path}: {self.name}: {problem}")

    def operator(self) -> Operator:
        row = {"arguments": ["x"], **self.row}
        by_default = "pattern" if "shapes" in row else "broadcast" if len(row["arguments"]) > 1 else "any"
        row.setdefault("operands", by_default)
        for name, other in (("forward", "formula"), ("rounding", "forward")):
            if other in row:
                row.setdefault(name, row[other])
        operator = Operator(
            name=self.name,
            family=self.path.stem,
            structure=STRUCTURES.get(self.name),
            composite=None if "formula" in row or self.name in STRUCTURES else composite(self.name),
            stress_values=_frozen(row.pop("beyond", {}), lambda numbers: tuple(map(float, numbers))),
            **{name: CONVERSIONS[name](value) if name in CONVERSIONS else value for name, value in row.items()},
        )
        self.check(operator)
        return operator

    def check(self, operator: Operator) -> None:
        self.check_kind(operator)
        for name, numbers in operator.stress_values.items():
            low, high = operator.samples.get(name, (0.0, 0.0))
            if low == high or any(low <= number <= high for number in numbers):
                raise self.error(f"beyond has to give numbers outside of the sample range of {name!r}")
        if operator.elementwise:
            self.check_formulas(operator)

    def check_kind(self, operator: Operator) -> None:
        kinds = [kind is not None for kind in (operator.formula, operator.structure, operator.composite)]
        if not any(kinds):
            raise self.error(
                "has no formula, and neither refgrad.operators.structures nor refgrad.operators.composites has a "
                "function of that name"
            )
        if sum(kinds) > 1:
            raise self.error("is defined twice: by a formula, a structure or a composite")
        if operator.shapes and len(operator.shapes) != len(operator.arguments):
            raise self.error(f"needs a shape for each of {list(operator.argument_names)}")

    def check_formulas(self, operator: Operator) -> None:
        allowed = set(operator.parameters)
        computed = (operator.formula, operator.forward, operator.rounding, operator.domain)
        stated = [(formula, allowed) for formula in computed if formula is not None]
        partials = (*operator.partials.values(), *operator.tails.values())
        for formula, names in [*stated, *((partial, allowed | {"out"}) for partial in partials)]:
            if unknown := formula.names - names:
                raise self.error(f"{formula.source!r} uses {min(unknown)!r}")
        needed = operator.differentiable_arguments
        for what, entries in (("partial", operator.partials), ("sample range", operator.samples)):
            if set(entries) != set(needed):
                raise self.error(f"needs a {what} for each of {list(needed)}")


def _frozen(table: Mapping[str, Any], convert: Callable[[Any], Any] = lambda value: value) -> Mapping[str, Any]:
    return MappingProxyType({name: convert(value) for name, value in table.items()})


def _argument(text: str) -> Argument:
    name, _, dtype = text.partition(":")
    return Argument(name.lstrip("*"), "bool" if dtype == "bool" else "float", variadic=name.startswith("*"))


def _attribute(name: str, declared: str | Mapping[str, Any]) -> Attribute:
    stated: Mapping[str, Any] = {"type": declared} if isinstance(declared, str) else declared
    default = None if stated.get("default") == "none" else stated.get("default", REQUIRED)
    bounds, options = tuple(stated.get("bounds", (0, 0))), tuple(stated.get("options", ()))
    return Attribute(name, stated["type"], default, bounds, options)


def _edge(row: Mapping[str, Any]) -> Edge:
    frozen = {"subdifferential": _frozen(row["subdifferential"], tuple), "reference": _frozen(row["reference"])}
    return Edge(**{**row, **frozen, "examples": tuple(map(_frozen, row["examples"]))})


CONVERSIONS: Mapping[str, Callable[[Any], Any]] = MappingProxyType({
    **dict.fromkeys(("formula", "forward", "rounding", "domain"), formula_of),
    **dict.fromkeys(("shapes", "aliases"), tuple),
    "arguments": lambda texts: tuple(map(_argument, texts)),
    "attributes": lambda table: tuple(starmap(_attribute, table.items())),
    **dict.fromkeys(("partials", "tails"), lambda table: _frozen(table, formula_of)),
    "samples": lambda table: _frozen(table, lambda ends: tuple(map(float, ends))),
    "edges": lambda rows: tuple(map(_edge, rows)),
    "exceptional": lambda row: Exceptional(frozenset(row["conventions"]), row["reason"]),
})
"""Functions that convert values of rows in files to those of operators, by key."""
