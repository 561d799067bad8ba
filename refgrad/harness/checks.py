"""Which checks is an engine graded by? One for each operator, its edges, each behaviour, and kinds of random graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refgrad.harness.behaviours import Behaviour, all_behaviours
from refgrad.harness.verdict import Level
from refgrad.operators import Operator, operator_table


@dataclass(frozen=True, slots=True)
class OperatorCheck:
    """Value and gradient of one operator at points where it is smooth."""

    operator: Operator
    level: Level = "MUST"

    @property
    def id(self) -> str:
        """``operators/NAME``."""
        return f"operators/{self.operator.name}"

    @property
    def statement(self) -> str:
        """What is held against the engine."""
        return f"{self.operator.name}: value and gradient are right, for any shape, attribute and seed."


@dataclass(frozen=True, slots=True)
class EdgeCheck:
    """Gradient of one operator at its declared edges, where any legal convention will do."""

    operator: Operator
    level: Level = "MUST"

    @property
    def id(self) -> str:
        """``edges/NAME``."""
        return f"edges/{self.operator.name}"

    @property
    def statement(self) -> str:
        """What is held against the engine."""
        return f"{self.operator.name}: at its edges the gradient is an element of the subdifferential."


@dataclass(frozen=True, slots=True)
class SecondOrderCheck:
    """Gradients of one operator's gradients, at points where it is smooth."""

    operator: Operator
    level: Level = "MUST"

    @property
    def id(self) -> str:
        """``second_order/NAME``."""
        return f"second_order/{self.operator.name}"

    @property
    def statement(self) -> str:
        """What is held against the engine."""
        return f"{self.operator.name}: its gradient can be differentiated, and the second derivatives are right."


@dataclass(frozen=True, slots=True)
class BehaviourCheck:
    """One behaviour, on the scenarios that its row gives."""

    behaviour: Behaviour

    @property
    def id(self) -> str:
        """``CHAPTER/NAME``."""
        return self.behaviour.id

    @property
    def level(self) -> Level:
        """The behaviour's own."""
        return self.behaviour.level

    @property
    def statement(self) -> str:
        """The behaviour's own."""
        return self.behaviour.statement


@dataclass(frozen=True, slots=True)
class GraphCheck:
    """Random graphs of a kind."""

    kind: Literal["one_backward", "several_backwards", "double_backward"]
    statement: str
    level: Level = "MUST"

    @property
    def id(self) -> str:
        """``graphs/KIND``."""
        return f"graphs/{self.kind}"


Check = OperatorCheck | EdgeCheck | SecondOrderCheck | BehaviourCheck | GraphCheck

GRAPH_CHECKS = (
    GraphCheck("one_backward", "Random graphs with sharing, fan-out and several leaves have the right gradients."),
    GraphCheck("several_backwards", "Random graphs with several losses and kept graphs have the right gradients."),
    GraphCheck("double_backward", "Gradients of random graphs' gradients are right."),
)


def all_checks() -> tuple[Check, ...]:
    """Return every check, in the order in which a report shows them."""
    operators = operator_table().values()
    return (
        *(BehaviourCheck(behaviour) for behaviour in all_behaviours()),
        *(OperatorCheck(operator) for operator in operators),
        *(EdgeCheck(operator) for operator in operators if operator.edges),
        *(SecondOrderCheck(operator) for operator in operators if operator.differentiable_arguments),
        *GRAPH_CHECKS,
    )


def chapter(check: Check) -> str:
    """The first part of a check's id."""
    return check.id.split("/")[0]


def differentiates_twice(check: Check) -> bool:
    """Whether the check's scenarios are about gradients of gradients; what fails without one is for another check."""
    return isinstance(check, SecondOrderCheck) or (isinstance(check, GraphCheck) and check.kind == "double_backward")
