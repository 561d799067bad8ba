"""The operators of an engine as functions that are checked, at the leaves of drawn scenarios."""

from __future__ import annotations

from typing import Any

from refgrad.generation import operator_scenario
from refgrad.native.engine import Engine
from refgrad.scenario import Apply


def function_of(engine: Engine, operator: str, seed: int = 0) -> tuple[Any, list[Any]]:
    """Return an operator in the words of an engine, as a function, and arrays to check it at."""
    scenario = operator_scenario(seed, operator)
    step = next(s for s in scenario.steps if isinstance(s, Apply) and s.operator == operator)
    leaves = {leaf.name: leaf.value.to_numpy() for leaf in scenario.leaves}
    names = tuple(dict.fromkeys(step.arguments))

    def function(*tensors: Any) -> Any:
        values = dict(zip(names, tensors, strict=True))
        return engine.apply(step, [values[name] for name in step.arguments], scenario)

    return function, [leaves[name] for name in names]
