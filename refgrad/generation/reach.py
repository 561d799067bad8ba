"""Coverage of random graphs: operators, pairs of operators in sequence, shapes, fan-out and depth."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from refgrad.interpreter import float64_values
from refgrad.operators.structure import Shape
from refgrad.scenario import Scenario


@dataclass(slots=True)
class Reach:
    """Coverage of all graphs that were added.

    ``pairs`` holds (producer, consumer) for each result that is an operand, and ``shapes`` the shapes of all tensors.
    ``uses`` is the largest number of uses of one tensor as an operand, ``levels`` the length of the longest path.
    """

    operators: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    shapes: set[Shape] = field(default_factory=set)
    uses: int = 0
    levels: int = 0

    def add(self, scenario: Scenario) -> None:
        """Add a graph."""
        producers, levels, uses = dict[str, str](), Counter[str](), Counter[str]()
        for step in scenario.applications:
            self.pairs |= {(producers[name], step.operator) for name in step.arguments if name in producers}
            producers[step.name] = step.operator
            levels[step.name] = 1 + max(levels[name] for name in step.arguments)
            uses.update(step.arguments)
        self.operators.update(producers.values())
        self.shapes.update(value.shape for value in float64_values(scenario).values())
        self.uses = max(self.uses, *uses.values())
        self.levels = max(self.levels, *levels.values())

    def __str__(self) -> str:
        """Return the counts in one line."""
        operators, pairs = len(self.operators), len(self.pairs)
        return (
            f"{operators} operators in {pairs:,} of {operators**2:,} ordered pairs, on {len(self.shapes)} shapes, "
            f"up to {self.uses} uses of one tensor and {self.levels} levels"
        )
