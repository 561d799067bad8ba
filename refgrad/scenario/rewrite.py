"""Scenarios made of others: slices, other leaves, names and dtypes; and the dtype of a value.

Functions that take steps return steps, which need not be a valid scenario yet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, cycle
from math import prod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from refgrad.scenario.constants import Constant
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.functions import ScenarioFunction, scenario_functions
from refgrad.scenario.kinds import DERIVATIVES, REPEATS, Apply, Backward, Detach, FunctionCall, Grad, Jvp, Leaf, Read
from refgrad.scenario.scenario import Scenario
from refgrad.scenario.step import Step


def floating_dtypes(scenario: Scenario) -> dict[str, frozenset[str]]:
    """Return, for every name, the floating dtypes of the leaves that it depends on.

    A gradient has those of its leaf, a directional derivative those of its output.
    """
    dtypes: dict[str, frozenset[str]] = {}
    for name, step in scenario.definitions.items():
        if isinstance(step, Leaf):
            dtypes[name] = frozenset({step.value.dtype} & FORMATS.keys())
        else:
            sources = (step.leaf,) if isinstance(step, Grad) else (step.output,) if isinstance(step, Jvp) else step.uses
            dtypes[name] = frozenset().union(*map(dtypes.__getitem__, sources))
    return dtypes


def promoted(dtypes: Collection[str]) -> str:
    """Return the dtype of a result of operands of these dtypes: the narrowest that represents all their numbers.

    That is the rule of NumPy, PyTorch and JAX where no operand is a scalar; float16 and bfloat16 give float32.
    """
    widest = max(dtypes, key=lambda dtype: FORMATS[dtype].bits, default="float64")
    return "float32" if widest == "float16" and "bfloat16" in dtypes else widest


S = TypeVar("S", bound=Step)
T = TypeVar("T")
H = TypeVar("H", bound=Hashable)
Start = TypeVar("Start", Backward, Grad)


def needed(steps: Sequence[S], names: Collection[str] = (), *, actions: bool = False) -> tuple[S, ...]:
    """Return, in order, the steps that define these names and all that they depend on.

    With ``actions``, the steps that define no name are kept too, with all that they depend on.
    """
    remaining, kept = set(names), list[S]()
    for step in reversed(steps):
        name = step.defines
        if actions if name is None else name in remaining:
            remaining.update(step.uses)
            kept.append(step)
    return tuple(reversed(kept))


def closure(start: Iterable[H], following: Callable[[H], Iterable[H]]) -> list[H]:
    """Return all objects that are reached from these, themselves included, in the order of a traversal."""
    reached: dict[H, None] = {}
    waiting = list(start)
    while waiting:
        each = waiting.pop()
        if each not in reached:
            reached[each] = None
            waiting.extend(following(each))
    return list(reached)


def descendants(steps: Iterable[Step], starts: Callable[[Step], bool], kinds: Any = Step) -> frozenset[str]:
    """Return the names defined by the ``starts``, and by steps of these kinds that depend on such a name."""
    names: set[str] = set()
    for step in steps:
        name = step.defines
        if name is not None and (starts(step) or (isinstance(step, kinds) and not names.isdisjoint(step.uses))):
            names.add(name)
    return frozenset(names)


def mapped(steps: Iterable[Step], kind: type[S], change: Callable[[S], Step]) -> tuple[Step, ...]:
    """Return the steps with each of one kind changed."""
    return tuple(change(step) if isinstance(step, kind) else step for step in steps)


def replaced(steps: Iterable[Step], kind: type[S], change: Callable[[S], Iterable[Step]]) -> tuple[Step, ...]:
    """Return the steps with each of one kind replaced by any number of steps."""
    return tuple(chain.from_iterable(change(step) if isinstance(step, kind) else (step,) for step in steps))


def spliced(items: Sequence[T], at: int, *new: T) -> tuple[T, ...]:
    """Return the steps, or other items, with the one at an index replaced by any number of others."""
    return (*items[:at], *new, *items[at + 1 :])


def renamed(steps: Iterable[Step], names: Mapping[str, str]) -> tuple[Step, ...]:
    """Return the steps with tensors and hooks renamed."""
    return tuple(step.renamed(names) for step in steps)


def fresh_name(stem: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and add it to those that are."""
    names = (stem if number == 1 else f"{stem}_{number}" for number in count(1))
    taken.add(fresh := next(name for name in names if name not in taken))
    return fresh


def inlined(scenario: Scenario) -> Scenario:
    """Return the scenario with each call of a function replaced by applications of operators and recorded gradients."""
    return Scenario(tuple(chain.from_iterable(inlined_steps(scenario)))) if scenario.calls else scenario


def inlined_steps(scenario: Scenario) -> Iterator[tuple[Step, ...]]:
    """Yield, for each step, the steps that replace it in the scenario without calls; the last one has its name."""
    taken = set(scenario.definitions)
    shapes = {leaf.name: leaf.value.shape for leaf in scenario.leaves}
    for step in scenario.steps:
        if isinstance(step, FunctionCall):
            function = scenario_functions()[step.function]
            yield tuple(WrittenCall(function, taken, shapes).steps(step.ways, step.arguments, step.name))
        else:
            yield (step,)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """The steps of a call of a function, with names that are not ``taken`` yet."""

    function: ScenarioFunction
    taken: set[str]
    shapes: Mapping[str, tuple[int, ...]]
    """Shapes of the leaves."""

    def steps(self, ways: Sequence[str], arguments: Sequence[str], name: str) -> Iterator[Step]:
        """Yield the steps of a call in some nested ways, the last of which defines ``name``."""
        if not ways:
            yield from self.part(self.function.forward, arguments, name)
        elif ways[0] in {"checkpoint", "jit"}:
            yield from self.steps(ways[1:], arguments, name)
        else:
            yield from getattr(self, "derivative" if ways[0] in DERIVATIVES else ways[0])(ways, arguments, name)

    def fresh(self, stem: str, *kinds: str) -> list[str]:
        """Return new names that begin with ``stem``."""
        return [fresh_name(f"{stem}_{kind}", self.taken) for kind in kinds]

    def part(self, steps: Sequence[Step], arguments: Sequence[str], name: str) -> Iterator[Step]:
        """Yield the steps of a part of the function."""
        names = dict(zip(self.function.arguments, arguments, strict=True))
        names |= {s.defines or "": self.fresh(name, f"of_{s.defines}")[0] for s in steps[:-1]}
        yield from renamed(steps, {**names, steps[-1].defines or "": name})

    def rule(self, _ways: Sequence[str], arguments: Sequence[str], name: str) -> Iterator[Step]:
        """Yield s + stop(f - s), where f is the function and s the one that its rule differentiates."""
        value, slope, off, fixed = self.fresh(name, "value", "slope", "off", "fixed")
        yield from self.part(self.function.forward, arguments, value)
        yield from self.part(self.function.slopes, arguments, slope)
        yield from (Apply(off, "subtract", (value, slope)), Detach(fixed, off), Apply(name, "add", (slope, fixed)))

    def loop(self, ways: Sequence[str], arguments: Sequence[str], name: str) -> Iterator[Step]:
        """Yield the repetitions."""
        for result in (*self.fresh(name, *(["carry"] * (REPEATS - 1))), name):
            yield from self.steps(ways[1:], arguments, result)
            arguments = (result, *arguments[1:])

    def vmap(self, ways: Sequence[str], arguments: Sequence[str], name: str) -> Iterator[Step]:
        """Yield the results of all rows, stacked."""
        results = []
        for row in range(self.shapes[arguments[0]][0]):
            parts = self.fresh(name, *(f"row_of_{argument}" for argument in arguments))
            for part, argument in zip(parts, arguments, strict=True):
                yield Apply(part, "index", (argument,), (("index", (row,)),))
            results += self.fresh(name, "row")
            yield from self.steps(ways[1:], parts, results[-1])
        yield Apply(name, "stack", tuple(results), (("axis", 0),))

    def derivative(self, ways: Sequence[str], arguments: Sequence[str], name: str) -> Iterator[Step]:
        """Yield the gradient of each entry of the result, or of the first gradient for a Hessian, stacked."""
        [output] = self.fresh(name, "output")
        yield from self.steps(ways[1:], arguments, output)
        if ways[0] == "hessian":
            total, gradient = self.fresh(name, "total", "gradient")
            yield from (Apply(total, "sum", (output,)), Grad(gradient, total, arguments[0]))
            output = gradient
        shape = self.shapes[arguments[0]]
        inner = sum(2 if way == "hessian" else way in DERIVATIVES for way in ways[1:])
        of_output = shape if ways[0] == "hessian" else shape * (1 + inner)
        units = np.eye(prod(of_output)).reshape(-1, *of_output)
        rows = self.fresh(name, *(["row"] * len(units)))
        for row, unit in zip(rows, units, strict=True):
            yield Grad(row, output, arguments[0], Constant.of(unit))
        [stacked] = self.fresh(name, "stacked")
        yield Apply(stacked, "stack", tuple(rows), (("axis", 0),))
        yield Apply(name, "reshape", (stacked,), (("shape", (*of_output, *shape)),))


def substituted(steps: Iterable[Step], definition: Step, name: str) -> tuple[Step, ...]:
    """Return the steps without ``definition``, with ``name`` used wherever its result was used."""
    names = {definition.defines or "": name}
    return renamed((step for step in steps if step is not definition), names)


def with_values(steps: Iterable[Step], value: Callable[[Leaf], Constant]) -> tuple[Step, ...]:
    """Return the steps with other numbers in the leaves."""
    return mapped(steps, Leaf, lambda leaf: replace(leaf, value=value(leaf)))


def with_seeds(steps: Iterable[Step], seed: Callable[[Backward | Grad], Constant | None]) -> tuple[Step, ...]:
    """Return the steps with other seeds of backward calls and recorded gradients."""

    def seeded(start: Start) -> Start:
        return replace(start, seed=seed(start))

    return mapped(mapped(steps, Backward, seeded), Grad, seeded)


def with_constants(scenario: Scenario, change: Callable[[Constant], Constant]) -> Scenario:
    """Return the scenario with the numbers of its leaves and seeds changed."""
    leaves = with_values(scenario.steps, lambda leaf: change(leaf.value))
    return Scenario(with_seeds(leaves, lambda start: None if start.seed is None else change(start.seed)))


def without_gradients_of(scenario: Scenario, leaves: Collection[str]) -> Scenario:
    """Return the scenario in which these leaves do not require grad, and none of their gradients is read."""
    kept = (s for s in scenario.steps if not (isinstance(s, Read) and s.what == "grad" and s.name in leaves))
    changed = mapped(kept, Leaf, lambda leaf: replace(leaf, requires_grad=False) if leaf.name in leaves else leaf)
    return Scenario(changed)


def without_tangents(scenario: Scenario) -> Scenario:
    """Return the scenario without directional derivatives, and without the steps that depend on them."""
    gone = descendants(scenario.steps, lambda step: isinstance(step, Jvp))
    return Scenario(tuple(s for s in scenario.steps if s.defines not in gone and gone.isdisjoint(s.uses)))


def in_modes(scenario: Scenario, forward: Iterable[bool]) -> Scenario:
    """Return the scenario with its gradients in forward or reverse mode, by flags that repeat if there are too few."""
    modes = cycle(forward)
    steps = (replace(s, forward=next(modes)) if isinstance(s, Backward | Grad) else s for s in scenario.steps)
    return Scenario(tuple(steps))


def at_lower_order(scenario: Scenario) -> Scenario:
    """Return the scenario up to its last recorded gradient, with a backward and reads of gradients instead."""
    number, grad = next((n, step) for n, step in reversed([*enumerate(scenario.steps)]) if isinstance(step, Grad))
    read = (Read("grad", leaf.name) for leaf in scenario.leaves if leaf.requires_grad)
    return Scenario((*scenario.steps[:number], Backward(grad.output, grad.seed), *read))


def with_dtypes(scenario: Scenario, dtype: Callable[[Leaf], str]) -> Scenario:
    """Return the scenario with its floating leaves in these dtypes, and seeds in the dtype of their output.

    Raises ScenarioError if a number is too large for its dtype.
    """
    leaves = with_values(
        scenario.steps, lambda leaf: _cast(leaf.value, dtype(leaf)) if leaf.value.dtype in FORMATS else leaf.value
    )
    return _with_cast_seeds(Scenario(with_fitting_tangents(leaves)))


def retyped(scenario: Scenario, names: Collection[str], dtype: str) -> Scenario:
    """Return the scenario with these floating leaves in a dtype, and seeds in the dtype of their output."""
    return with_dtypes(scenario, lambda leaf: dtype if leaf.name in names else leaf.value.dtype)


def with_fitting_seeds(scenario: Scenario) -> Scenario:
    """Return the scenario with each seed in the dtype of its output."""
    plain = all(leaf.value.dtype == "float64" for leaf in scenario.leaves)
    return scenario if plain else _with_cast_seeds(scenario)


def _with_cast_seeds(scenario: Scenario) -> Scenario:
    dtypes = floating_dtypes(scenario)

    def cast(start: Backward | Grad) -> Constant | None:
        return None if start.seed is None else _cast(start.seed, promoted(dtypes[start.output]))

    return Scenario(with_seeds(scenario.steps, cast))


def _cast(constant: Constant, dtype: str) -> Constant:
    return constant if constant.dtype == dtype else Constant.of(constant.to_numpy(), dtype)


def with_fitting_tangents(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps with each tangent in its leaf's shape and dtype.

    Tangents of anything else than a leaf that requires grad are dropped.
    """
    sequence = tuple(steps)
    leaves = {step.name: step.value for step in sequence if isinstance(step, Leaf) and step.requires_grad}

    def fitted(step: Jvp) -> Jvp:
        kept = ((name, _fitted(tangent, leaves[name])) for name, tangent in step.tangents if name in leaves)
        return replace(step, tangents=tuple(dict(kept).items()))

    return mapped(sequence, Jvp, fitted)


def _fitted(tangent: Constant, leaf: Constant) -> Constant:
    if (tangent.dtype, tangent.shape) == (leaf.dtype, leaf.shape):
        return tangent
    return Constant.of(resized(tangent.to_numpy(), leaf.shape), leaf.dtype)


def resized(array: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return an array of another shape, cut or with its entries repeated; of ones if it has no entries."""
    old = array if array.size else np.ones(())
    if old.ndim == len(shape) and all(a >= b for a, b in zip(old.shape, shape, strict=True)):
        new = old[tuple(slice(length) for length in shape)]
    else:
        new = np.resize(old, shape)
    return np.ascontiguousarray(new).reshape(shape)
