"""On which functions are checkers compared? Generated graphs with one output, and one function of any size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.generation import Profile, random_scenario
from refgrad.interpreter import Float64, evaluate
from refgrad.native.engine import Engine
from refgrad.scenario import Apply, Backward, Constant, Leaf, Scenario, parse

Array = npt.NDArray[np.float64]

OPERATORS: Final = frozenset({
    "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "arctan2", "logaddexp", "clip",
    "negative", "abs", "exp", "exp2", "log", "log1p", "log2", "log10", "sqrt", "square", "reciprocal",
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
    "matmul", "sum", "mean", "max", "min", "reshape", "expand_dims", "squeeze", "concatenate", "stack",
})  # fmt: skip
"""Operators that all compared libraries have and get right: a check must find the error that is put in, no other."""

FAR: Final = Profile(
    operators=OPERATORS,
    length=(5, 20),
    max_backwards=1,
    empty=0.0,
    unused_leaves=0.0,
)
NEAR: Final = Profile(operators=OPERATORS, length=(5, 20), max_backwards=1, empty=0.0, unused_leaves=0.0, edges=0.5)
DISTANCES: Final = (-9.0, -3.0)
"""Decimal exponents of how far, relatively, a graph near kinks is moved off them."""

BODY: Final = """
a = tanh x
b = sin x
c = multiply a b
d = exp a
e = add c d
f = arctan e
g = multiply f x
h = logaddexp g c
i = cos h
j = subtract h i
k = square j
l = arctan k
m = divide l d
n = log1p m
o = add n k
p = sqrt o
q = multiply p f
r = arcsinh q
s = subtract r c
out = sum s
"""
"""Twenty operators on one vector, with sharing and a scalar output."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A scenario's forward part as a function of its leaves that require grad, and a cotangent of its output."""

    scenario: Scenario
    output: str
    cotangent: Constant

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves to differentiate by."""
        return tuple(leaf for leaf in self.scenario.leaves if leaf.requires_grad)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Their values."""
        return tuple(leaf.value.to_numpy() for leaf in self.leaves)

    def function(self, engine: Engine) -> Callable[..., Any]:
        """Return the function in the library of an engine."""
        constants = {leaf.name: engine.make(leaf.value, requires_grad=False) for leaf in self.scenario.leaves}
        steps = needed(self.scenario, self.output)
        names = [leaf.name for leaf in self.leaves]

        def function(*tensors: Any) -> Any:
            values = {**constants, **dict(zip(names, tensors, strict=True))}
            for step in steps:
                values[step.name] = engine.apply(step, [values[name] for name in step.arguments])
            return values[self.output]

        return function


def needed(scenario: Scenario, output: str) -> list[Apply]:
    """Return the applications that an output depends on, in order."""
    names = {output}
    found = []
    for step in reversed(scenario.applications):
        if step.name in names:
            names.update(step.arguments)
            found.append(step)
    return found[::-1]


def graph_of(scenario: Scenario) -> Graph:
    """Return the graph of a scenario with one backward, without the leaves that its output does not depend on."""
    ((_, backward),) = scenario.backwards
    steps = needed(scenario, backward.output)
    used = {name for step in steps for name in step.arguments}
    leaves = [leaf for leaf in scenario.leaves if leaf.name in used]
    cotangent = backward.seed or Constant.of(np.ones(()))
    whole = Scenario((*leaves, *steps, Backward(backward.output, cotangent, retain_graph=False)))
    return Graph(whole, backward.output, cotangent)


def generated(count: int, *, near: bool) -> Iterator[Graph]:
    """Yield graphs: far from kinks, or a little beside them. The same ones every time."""
    graphs = (graph_of(random_scenario(seed, NEAR if near else FAR)) for seed in itertools.count())
    if near:
        beside = (moved(graph, np.random.default_rng(seed)) for seed, graph in enumerate(graphs))
        graphs = (graph for graph in beside if is_defined(graph))
    yield from itertools.islice(graphs, count)


def is_defined(graph: Graph) -> bool:
    """Whether the output is finite: a move may lead out of a domain."""
    return bool(np.isfinite(evaluate(graph.scenario, Float64())[graph.output]).all())


def moved(graph: Graph, choices: np.random.Generator) -> Graph:
    """Move every number by a small random amount."""

    def beside(leaf: Leaf) -> Leaf:
        array = leaf.value.to_numpy()
        if array.dtype != np.float64:
            return leaf
        distance = 10.0 ** choices.uniform(*DISTANCES, array.shape) * choices.choice((-1.0, 1.0), array.shape)
        return Leaf(leaf.name, Constant.of(array + distance * np.maximum(np.abs(array), 0.5)), leaf.requires_grad)

    steps = tuple(beside(step) if isinstance(step, Leaf) else step for step in graph.scenario.steps)
    return Graph(Scenario(steps), graph.output, graph.cotangent)


def sized(count: int) -> Graph:
    """Return the function of twenty operators on a vector of ``count`` entries."""
    x = Leaf("x", Constant.of(np.random.default_rng(count).uniform(0.3, 2.0, count)), requires_grad=True)
    steps = (x, *parse(f"{Scenario((x,)).text}{BODY}").applications)
    cotangent = Constant.of(np.array(1.0))
    return Graph(Scenario((*steps, Backward("out", cotangent, retain_graph=False))), "out", cotangent)
