"""Faults that follow from the rows of the operator table: one for each row and family of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.operators.recording import record_operators
from refgrad.grading.checks.check import FamilyCheck
from refgrad.grading.checks.families import all_checks
from refgrad.operators import Operator, operator_table
from tests.faulty_engines.derived import contracts
from tests.faulty_engines.derived.edges import at_edges, kind_of_edge
from tests.faulty_engines.derived.errors import KINDS, SMALL, kind_of, number_of
from tests.faulty_engines.derived.planting import Application, Error, Site, passing, with_error

FAMILIES: Final = ("operators", "edges", "contracts", "forward_mode", "second_order", "third_order")
"""The families of checks of single operators, in the order in which they are graded.

The families of exceptional numbers are left out: faults of theirs are planted one by one, beside their checks' tests.
"""

ORDERS: Final[Mapping[str, int]] = MappingProxyType({
    "operators": 1,
    "edges": 1,
    "second_order": 2,
    "third_order": 3,
})
"""The orders of the derivatives that are wrong."""

VALUE: Final = "has a value that is off by 1e-6 in the last entry"


class ForwardMode:
    """Whether a directional derivative is being computed."""

    def __init__(self) -> None:
        self.running = False

    def watched(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Return a ``jvp`` that notes when it runs."""

        def noted(*arguments: Any) -> Any:
            self.running = True
            try:
                return jvp(*arguments)
            finally:
                self.running = False

        return noted


@dataclass(frozen=True)
class DerivedFault:
    """The fault of one row that one check is there to find; ``kind`` says what is wrong."""

    check: FamilyCheck
    kind: str

    @property
    def name(self) -> str:
        """The id of the check, and the kind."""
        return f"{self.check.id}: {self.kind}"

    @property
    def row(self) -> Operator:
        """The operator."""
        return self.check.operator

    @cached_property
    def family(self) -> str:
        """The chapter of the check."""
        return self.check.chapter

    def function(self, mode: ForwardMode) -> Callable[..., Tensor]:
        """Return the operator with the fault; variadic operands may be given as a list."""

        def spoiled(*operands: Any, **attributes: Any) -> Tensor:
            tensors = [x for operand in operands for x in (operand if isinstance(operand, list) else [operand])]
            function = partial(right_operators()[self.row.name], **attributes)
            return self.spoil(Application(function, tensors, attributes, function(*tensors)), mode)

        return spoiled

    def spoil(self, application: Application, mode: ForwardMode) -> Tensor:
        """Return the result of an application with the fault."""
        if self.family == "contracts":
            return contracts.with_rule(application, contracts.RULES[self.kind])
        if self.family == "forward_mode":
            error = pushed(KINDS[self.kind](self.row))
            return with_error(application, 2, error) if mode.running else application.result
        if self.kind == VALUE:
            return with_value(application)
        error = at_edges(self.row) if self.family == "edges" else KINDS[self.kind](self.row)
        return with_error(application, ORDERS[self.family], error)


@cache
def right_operators() -> Mapping[str, Callable[..., Tensor]]:
    """Return the operators of the reference engine as functions of tensors."""
    return record_operators(operator_table())


def pushed(error: Error) -> Error:
    """Return the error of a tangent alone: what the cotangent of the first gradient receives is the tangent."""

    def of_last(site: Site) -> list[Any]:
        found = error(site)
        return [*(np.zeros_like(each) for each in found[:-1]), found[-1]]

    return of_last


def with_value(application: Application) -> Tensor:
    """Return a result whose last entry is off, with the right derivatives."""
    result = application.result
    array = np.array(result.array)
    if array.size and array.dtype.kind == "f":
        last = array.reshape(-1)[-1:]  # a view
        last += SMALL * np.maximum(np.abs(last), SMALL)
    return Tensor(array[()]) if result.node is None else passing(array[()], result.node)


def derived_faults() -> Iterator[DerivedFault]:
    """Yield every fault, those of a row behind one another."""
    checks = [check for check in all_checks() if isinstance(check, FamilyCheck) and check.chapter in FAMILIES]
    ordered = sorted(checks, key=lambda check: (check.operator_name, FAMILIES.index(check.chapter)))
    for check in ordered:
        yield from (DerivedFault(check, kind) for kind in kinds(check))


def kinds(check: FamilyCheck) -> list[str]:
    """Return the kinds of faults that are planted for a check."""
    row, family = check.operator, check.chapter
    if family == "contracts":
        return list(contracts.RULES)
    if family == "edges":
        return [kind_of_edge(row)]
    if family == "operators" and (not row.differentiable_arguments or number_of(f"value/{row.name}") % 5 == 0):
        return [VALUE]
    return [kind_of(family, row)]
