"""Which checks is an engine graded by? One for each operator, its edges, each behaviour, and kinds of random graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from refgrad.generation import Dtype
from refgrad.harness.behaviours import Behaviour, all_behaviours
from refgrad.harness.claims import Claim, all_claims
from refgrad.harness.verdict import Level
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Scenario

GraphKind = Literal[
    "one_backward", "several_backwards", "double_backward", "float32", "float16", "bfloat16", "mixed_precision"
]


@dataclass(frozen=True, slots=True)
class CheckOfOperator:
    """What the checks about one operator share: ``CHAPTER/NAME``, a level, and what is held against the engine."""

    operator: Operator

    chapter: ClassVar[str]
    claim: ClassVar[str]
    level: ClassVar[Level] = "MUST"

    @property
    def id(self) -> str:
        """``CHAPTER/NAME``."""
        return f"{self.chapter}/{self.operator.name}"

    @property
    def statement(self) -> str:
        """What is held against the engine."""
        return f"{self.operator.name}: {self.claim}"


@dataclass(frozen=True, slots=True)
class OperatorCheck(CheckOfOperator):
    """Value and gradient of one operator at points where it is smooth."""

    chapter: ClassVar[str] = "operators"
    claim: ClassVar[str] = "value and gradient are right, for any shape, attribute and seed."


@dataclass(frozen=True, slots=True)
class EdgeCheck(CheckOfOperator):
    """Gradient of one operator at its declared edges, where any legal convention will do."""

    chapter: ClassVar[str] = "edges"
    claim: ClassVar[str] = "at its edges the gradient is an element of the subdifferential."


@dataclass(frozen=True, slots=True)
class SecondOrderCheck(CheckOfOperator):
    """Gradients of one operator's gradients, at points where it is smooth."""

    chapter: ClassVar[str] = "second_order"
    claim: ClassVar[str] = "its gradient can be differentiated, and the second derivatives are right."


@dataclass(frozen=True, slots=True)
class ThirdOrderCheck(CheckOfOperator):
    """Gradients of gradients of one operator's gradients, at points where it is smooth."""

    chapter: ClassVar[str] = "third_order"
    claim: ClassVar[str] = "its second derivatives can be differentiated, and the third ones are right."
    level: ClassVar[Level] = "SHOULD"


@dataclass(frozen=True, slots=True)
class ContractCheck(CheckOfOperator):
    """What else one operator's backward rule may touch: nothing."""

    chapter: ClassVar[str] = "contracts"
    claim: ClassVar[str] = (
        "its backward leaves operands and seeds as they are, gives the same when it is walked again, and no two "
        "gradients share memory."
    )


@dataclass(frozen=True, slots=True)
class ForwardModeCheck(CheckOfOperator):
    """Directional derivatives of one operator, and its gradient at the same point."""

    chapter: ClassVar[str] = "forward_mode"
    claim: ClassVar[str] = "forward mode gives its directional derivatives, whichever operands move."
    level: ClassVar[Level] = "SHOULD"


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
    """Random graphs of a kind, in a dtype; where there is a ``wider`` one, some leaves are of that.

    A check of another dtype than float64 is about what goes wrong in that dtype only.
    """

    kind: GraphKind
    statement: str
    level: Level = "MUST"
    dtype: Dtype = "float64"
    wider: Dtype | None = None

    @property
    def id(self) -> str:
        """``graphs/KIND``."""
        return f"graphs/{self.kind}"


@dataclass(frozen=True, slots=True)
class LifecycleCheck:
    """Random lives of a graph, with all that an engine offers in them."""

    level: Level = "MUST"

    @property
    def id(self) -> str:
        """``lifecycles/random``."""
        return "lifecycles/random"

    @property
    def statement(self) -> str:
        """What is held against the engine."""
        return (
            "Whatever is built, freed, detached, overwritten, hooked and switched in whatever order, every step shows "
            "what it must, and fails where it must."
        )


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """What an adapter says of its engine, or does not say."""

    claim: Claim
    level: Level = "MUST"

    @property
    def id(self) -> str:
        """``claims/NAME``."""
        return self.claim.id

    @property
    def statement(self) -> str:
        """The claim's own."""
        return self.claim.statement


OfOperator = OperatorCheck | EdgeCheck | SecondOrderCheck | ThirdOrderCheck | ContractCheck | ForwardModeCheck
"""The checks that are about one operator."""

Check = OfOperator | BehaviourCheck | GraphCheck | LifecycleCheck | ClaimCheck

GRAPH_CHECKS = (
    GraphCheck("one_backward", "Random graphs with sharing, fan-out and several leaves have the right gradients."),
    GraphCheck("several_backwards", "Random graphs with several losses and kept graphs have the right gradients."),
    GraphCheck("double_backward", "Gradients of random graphs' gradients are right."),
    GraphCheck("float32", "Random graphs of float32 have the right gradients, in float32.", dtype="float32"),
    GraphCheck("float16", "Random graphs of float16 have the right gradients, in float16.", "SHOULD", "float16"),
    GraphCheck("bfloat16", "Random graphs of bfloat16 have the right gradients, in bfloat16.", "SHOULD", "bfloat16"),
    GraphCheck(
        "mixed_precision",
        "Random graphs of float32 and float64 have the right gradients, each in its leaf's dtype.",
        "SHOULD",
        "float32",
        "float64",
    ),
)


def all_checks() -> tuple[Check, ...]:
    """Return every check, in the order in which a report shows them."""
    operators = operator_table().values()
    sloping = [o for o in operators if not all(map(o.vanishes, o.differentiable_arguments))]
    return (
        *(BehaviourCheck(behaviour) for behaviour in all_behaviours()),
        *(OperatorCheck(operator) for operator in operators),
        *(EdgeCheck(operator) for operator in operators if operator.edges),
        *(SecondOrderCheck(operator) for operator in sloping),
        *(ThirdOrderCheck(operator) for operator in sloping),
        *(ContractCheck(operator) for operator in operators if operator.differentiable_arguments),
        *(ForwardModeCheck(operator) for operator in operators if operator.differentiable_arguments),
        *GRAPH_CHECKS,
        LifecycleCheck(),
        *(ClaimCheck(claim) for claim in all_claims()),
    )


def chapter(check: Check) -> str:
    """The first part of a check's id."""
    return check.id.split("/")[0]


def is_about(check: Check, scenario: Scenario) -> bool:
    """Whether a scenario has what the check is about; what fails without it is for another check."""
    pushes = bool(scenario.jvps) or not isinstance(check, ForwardModeCheck)
    return pushes and len(scenario.gradients) >= _recorded_gradients(check)


def _recorded_gradients(check: Check) -> int:
    """How many gradients a scenario of the check records at least."""
    if isinstance(check, ThirdOrderCheck):
        return 2
    doubles = isinstance(check, GraphCheck) and check.kind == "double_backward"
    return 1 if doubles or isinstance(check, SecondOrderCheck) else 0
