"""Plain programs, whose gradients follow only from the chain rule, and the faults that their wrong gradients show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Final

import numpy as np

from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Finding
from refgrad.grading.trials import PLAIN
from refgrad.lifecycle import required_features
from refgrad.native.engine import Engine, observe
from refgrad.native.text import plain_line
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario

SIGNS: Final[Mapping[str, str]] = MappingProxyType({"add": "+", "multiply": "*"})
"""Operators of two operands that plain programs use, with their signs in formulas."""

LEAVES: Final = tuple(Leaf(n, Constant.of(np.array(v)), requires_grad=True) for n, v in (("x", 1.5), ("y", 2.25)))
"""Operands of plain programs."""

WITH_KEPT_GRADIENTS: Final = MappingProxyType({"add": ((5, 3), (7, 4)), "multiply": ((16.875, 6.75), (23.625, 9))})
"""Gradients of ``x`` and ``y`` after two backwards from `(x + y) + x` or `(x * y) * x` if results keep their gradients.

In the second pair the output also adds the seed to the gradient that it kept.
"""


@dataclass(frozen=True, slots=True)
class PlainProgram:
    """A program that reads the gradients of ``x`` and ``y`` after a backward from each output, and its formula."""

    formula: str
    steps: tuple[Apply, ...]
    outputs: tuple[str, ...]

    @property
    def scenario(self) -> Scenario:
        """The program as a scenario."""
        leaves = [leaf for leaf in LEAVES if any(leaf.name in step.arguments for step in self.steps)]
        reads = (Read("grad", leaf.name) for leaf in leaves)
        return Scenario((*leaves, *self.steps, *(Backward(output, None) for output in self.outputs), *reads))

    def run(self, engine: Engine) -> Finding | None:
        """Run the program on an engine and return its finding, or None if the engine cannot run it."""
        scenario = self.scenario
        if engine.absent(scenario) or not required_features(scenario) <= engine.adapter.features:
            return None
        finding = examine(scenario, engine)
        return None if finding.failed and finding.outcome not in {"wrong", "inaccurate"} else finding


def suspected_faults(engine: Engine) -> list[str]:
    """Return a description of each fault that plain programs show, one line each.

    There are none if no operator has a right gradient, since the templates of the adapter may be wrong. If sums or
    products are wrong, nothing else is tried.
    """
    if not any(_runs_right(_once(name), engine) for name in PLAIN):
        return []
    if faults := faults_of_one_backward(engine):
        return faults
    repeated = (_first_wrong([_two_backwards(name)], engine) for name in SIGNS if _runs_right(_once(name), engine))
    others = (_first_wrong((_once(name), _with_sum(name)), engine, name) for name in PLAIN if name not in SIGNS)
    return [*islice(filter(None, repeated), 1), *filter(None, others)]


def faults_of_one_backward(engine: Engine) -> list[str]:
    """Return a description of each fault of sums and products in programs with a single backward, one line each.

    If both operators fail only where ``x`` is used twice, the fault is in neither, and no operator is named.
    """
    own = {name: (_once(name), *_twice(name)) for name in SIGNS}
    faults = [line for name, programs in own.items() if (line := _first_wrong(programs, engine, name))]
    if len(faults) == len(SIGNS) and all(_runs_right(_once(name), engine) for name in SIGNS):
        return [_first_wrong(own["add"], engine)]
    return faults or list(filter(None, [_first_wrong([_with_sum("multiply")], engine)]))


def sends_kept_gradients_again(engine: Engine) -> bool:
    """Return True if a second backward of a graph also propagates the gradients that results kept of the first.

    micrograd works like this. It is not a fault: programs with one backward are right, and so are backwards of separate
    graphs. After a second backward of one graph the gradients are exactly those that kept gradients lead to. An engine
    that overwrites, doubles or loses gradients gives others, or has other programs wrong as well, and its fault is
    reported.
    """
    if suspected_faults(engine):
        return False
    offered = [name for name in SIGNS if name in engine.operators]
    return bool(offered) and all(_after_two_backwards(name, engine) in WITH_KEPT_GRADIENTS[name] for name in offered)


def _after_two_backwards(name: str, engine: Engine) -> tuple[float, ...]:
    """Return the gradients of ``x`` and ``y`` that exist after two backwards of one graph, to seven digits."""
    steps = Apply("a", name, ("x", "y")), Apply("b", name, ("a", "x")), *(Backward("b", retain_graph=True),) * 2
    seen = observe(Scenario((*LEAVES, *steps, Read("grad", "x"), Read("grad", "y"))), engine)[-2:]
    return tuple(float(f"{each.array.item():.7g}") for each in seen if each.array is not None and each.array.size == 1)


def _first_wrong(programs: Iterable[PlainProgram], engine: Engine, operator: str = "") -> str:
    """Describe the first program with a wrong gradient, and name the operator. Stop at a program that does not run."""
    for program in programs:
        finding = program.run(engine)
        if finding is None:
            break
        if finding.outcome == "wrong":
            where = f" in {operator}" if operator else ""
            at = ", ".join(f"{leaf.name} = {leaf.value.to_numpy()}" for leaf in program.scenario.leaves)
            return f"suspected fault{where}: backward from {program.formula} at {at}: {plain_line(finding.message)}"
    return ""


def _runs_right(program: PlainProgram, engine: Engine) -> bool:
    """Return True if an engine runs the program and all its gradients are right."""
    finding = program.run(engine)
    return finding is not None and finding.outcome != "wrong"


def _once(name: str) -> PlainProgram:
    """Return a program that uses an operator once."""
    formula, operands = (f"x {SIGNS[name]} y", ("x", "y")) if name in SIGNS else (f"{name}(x)", ("x",))
    return PlainProgram(f"`{formula}`", (Apply("a", name, operands),), ("a",))


def _twice(name: str) -> Iterator[PlainProgram]:
    """Yield programs of one operator of two operands that use ``x`` twice.

    If ``y`` is used, too, it is the second operand in one program and the first in another.
    """
    sign = SIGNS[name]
    yield PlainProgram(f"`x {sign} x`", (Apply("a", name, ("x", "x")),), ("a",))
    for first, second in ("xy", "yx"):
        steps = Apply("a", name, (first, second)), Apply("b", name, ("a", "x"))
        yield PlainProgram(f"`({first} {sign} {second}) {sign} x`", steps, ("b",))


def _with_sum(name: str) -> PlainProgram:
    """Return a program that uses ``x`` in an operator and again in a sum with the result."""
    formula, operands = ("x * x", ("x", "x")) if name == "multiply" else (f"{name}(x)", ("x",))
    return PlainProgram(f"`{formula} + x`", (Apply("a", name, operands), Apply("b", "add", ("a", "x"))), ("b",))


def _two_backwards(name: str) -> PlainProgram:
    """Return a program with two backward calls, from two outputs with the same leaves."""
    sign = SIGNS[name]
    steps = Apply("a", name, ("x", "y")), Apply("b", name, ("y", "x"))
    return PlainProgram(f"`x {sign} y`, then from `y {sign} x`", steps, ("a", "b"))
