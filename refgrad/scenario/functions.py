"""Functions of the user's own, as ``specs/functions.toml`` has them, and which calls of them may be drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from refgrad.documents import parsed_toml
from refgrad.errors import UserError
from refgrad.operators import operator_table
from refgrad.scenario.errors import ScenarioError
from refgrad.scenario.kinds import DERIVATIVES, OF, WAYS, Apply, Detach
from refgrad.scenario.step import Step
from refgrad.scenario.tokens import Cursor, tokenize
from refgrad.specification import shipped_path

COTANGENT: Final = "g"
"""Name of the cotangent of the result in a rule."""

BENDING: Final = frozenset({"cos", "exp", "sin", "tanh"})
"""Operators all of whose derivatives depend on the operand."""

BOUNDS: Final[Mapping[str, Callable[[float, int], float]]] = MappingProxyType({
    "sin": lambda _, __: 1.0,
    "tanh": lambda _, __: 1.0,
    "exp": lambda bound, _: math.exp(bound),
    "negative": lambda bound, _: bound,
    "sum": lambda bound, size: bound * size,
    "mean": lambda bound, _: bound,
})
"""Operators of one argument, with the bound of their results, given a bound of the argument and its size."""

CALLS: Final = (
    "rule", "rule", "rule", "checkpoint", "jit", "loop", "vmap", "jacrev", "jacfwd", "hessian", "vmap_of_rule",
    "jacrev_of_rule", "jacrev_of_jacrev", "jacfwd_of_jacrev", "jacrev_of_jacfwd", "loop_of_rule", "jit_of_rule",
    "checkpoint_of_rule",
)  # fmt: skip
"""Ways in which functions are called. A repeated one is more likely."""

CALL_FEATURES: Final = frozenset(f"call:{way}" for way in WAYS)
"""Features that calls of functions may need."""


@dataclass(frozen=True, slots=True)
class ScenarioFunction:
    """A function of arguments by name, with the steps of its forward, of its rule, and of what the rule differentiates.

    The result is the last step of ``forward``. The gradient of an argument ``x`` is the step ``g_x`` of ``backward``.
    """

    name: str
    summary: str
    arguments: tuple[str, ...]
    forward: tuple[Step, ...]
    slopes: tuple[Step, ...]
    backward: tuple[Step, ...]

    @property
    def result(self) -> str:
        """Name of the result in ``forward`` and ``backward``."""
        return self.forward[-1].defines or ""

    @property
    def operators(self) -> frozenset[str]:
        """Names of the operators of the forward and of the rule."""
        return frozenset(s.operator for s in (*self.forward, *self.backward) if isinstance(s, Apply))

    @property
    def saved(self) -> tuple[str, ...]:
        """The arguments, and the result, that the rule uses."""
        used = {name for step in self.backward for name in step.uses}
        return tuple(name for name in (*self.arguments, self.result) if name in used)

    @property
    def can_be_drawn(self) -> bool:
        """True if each argument has a gradient, and the rule is that of one operator which saves arguments only.

        For other functions, engines differ in which results require a gradient and in what they need of a freed graph.
        """
        (slope, *others), table = self.slopes, operator_table()
        if others or not isinstance(slope, Apply) or not all(map(self.gradient, self.arguments)):
            return False
        row = table[slope.operator]
        return "out" not in {saved for argument in row.argument_names for saved in row.saves(argument)}

    def is_nonlinear(self, *, by_rule: bool) -> bool:
        """Return True if no derivative of the forward, or of the rule's slopes, is constant."""
        steps = self.slopes if by_rule else self.forward
        return any(isinstance(step, Apply) and step.operator in BENDING for step in steps)

    def gradient(self, argument: str) -> str | None:
        """Return the name of an argument's gradient in the rule, or None if it has none."""
        name = f"{COTANGENT}_{argument}"
        return name if any(step.defines == name for step in self.backward) else None


@cache
def scenario_functions() -> Mapping[str, ScenarioFunction]:
    """Return the functions by name. Raise UserError for a line that is not a step."""
    rows = parsed_toml(shipped_path("functions.toml"))
    return MappingProxyType({name: _function(name, row) for name, row in rows.items()})


@cache
def arguments_of_functions() -> Mapping[str, int]:
    """Return the number of arguments of each function, by name."""
    return MappingProxyType({name: len(function.arguments) for name, function in scenario_functions().items()})


def _function(name: str, row: Mapping[str, Any]) -> ScenarioFunction:
    try:
        parts = [tuple(map(_step, row[part].strip().split("\n"))) for part in ("forward", "slopes", "backward")]
    except (ScenarioError, KeyError) as error:
        raise UserError(f"specs/functions.toml: {name}: {error}") from error
    return ScenarioFunction(name, row["summary"], tuple(row["arguments"]), *parts)


def _step(line: str) -> Step:
    cursor = Cursor(tokenize(line))
    kind: type[Step] = Detach if cursor.peek(2) == Detach.form.keyword else Apply
    step = kind.from_text(cursor)
    cursor.finish()
    return step


def is_predictable(function: ScenarioFunction, way: str) -> bool:
    """Return True if engines agree on what a call records and on what it needs of a freed graph."""
    if way == "checkpoint":
        return len(function.forward) == 1
    return not is_derivative(way) or function.is_nonlinear(by_rule="rule" in way)


def is_derivative(way: str) -> bool:
    """Return True if a way, or one that is nested in it, returns derivatives."""
    return not DERIVATIVES.isdisjoint(way.split(OF))


def features_of(way: str) -> set[str]:
    """Return the features that an engine needs for a way."""
    return {f"call:{each}" for each in way.split(OF)}


def bound_of(function: ScenarioFunction, bounds: Mapping[str, float], size: int) -> float:
    """Return a bound on the entries of a function's result, given those of its arguments."""
    known = dict(bounds)
    for step in function.forward:
        x, *others = (known[name] for name in step.uses)
        operator = step.operator if isinstance(step, Apply) else ""
        if others:
            known[step.defines or ""] = x * others[0] if operator == "multiply" else x + others[0]
        else:
            known[step.defines or ""] = BOUNDS.get(operator, BOUNDS["sin"])(x, size)
    return known[function.result]
