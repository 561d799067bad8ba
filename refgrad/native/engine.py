"""Engines that programs run on: adapter, runner, spellings, and the observations of scenarios."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain
from typing import Any

import numpy as np

from refgrad.errors import EngineStartError
from refgrad.native import calls
from refgrad.native.adapter import AnyAdapter, find_adapter, spellings
from refgrad.native.adapter.registry import is_reference_engine
from refgrad.native.adapter.spelling import chosen
from refgrad.native.display import failing_steps, program_lines
from refgrad.native.observation import UNSUPPORTED, Array, Observation, Raised
from refgrad.native.process import Ending, Limits
from refgrad.native.program import Program, program_of
from refgrad.native.runner import LocalRunner, ProcessRunner, ProgramResult, Runner
from refgrad.native.runners.python_runner import Session
from refgrad.native.statements import Attempt, Call, call_wire
from refgrad.operators import Operator
from refgrad.scenario import Apply, Backward, Constant, Grad, Read, Scenario, Step


class Engine:
    """A started engine: its adapter, and the runner that executes programs on it."""

    def __init__(self, adapter: AnyAdapter, runner: Runner | None = None) -> None:
        """Use a runner in this process if none is given. Raises EngineStartError if that cannot be started."""
        self.adapter = adapter
        self.runner = LocalRunner(adapter) if runner is None else runner
        self.fatal: dict[str, tuple[Observation, ...]] = {}
        """Observations of scenarios in which the engine's process ended, by scenario id."""
        self.watch: Callable[[Scenario], Callable[[int], None]] | None = None
        """Function that is called with each scenario before it runs in this process.

        It returns the function that is called with the number of each step.
        """
        self.hung: set[frozenset[str]] = set()
        """Sets of operators of scenarios that gave no answer; only the one that was being applied if it is known."""
        self.prepared: dict[tuple[Scenario, bool], tuple[Observation, ...]] = {}
        """Observations of scenarios that were run in advance, by scenario and whether seeds were watched."""

    def has_run(self, scenario: Scenario) -> bool:
        """Return True if the observations of a scenario are known: it ended a process, or was prepared."""
        return scenario.id in self.fatal or any(known == scenario for known, _seeds in self.prepared)

    def forget(self, scenario: Scenario) -> None:
        """Allow a scenario that ended a process to run again, with the full time limit."""
        self.fatal.pop(scenario.id, None)
        self.hung = {operators for operators in self.hung if not operators <= scenario.operators}

    def hangs(self, operators: frozenset[str]) -> bool:
        """Return True if a scenario that used only these operators gave no answer."""
        return any(known <= operators for known in self.hung)

    @property
    def session(self) -> Session:
        """Session of an engine in this process."""
        assert isinstance(self.runner, LocalRunner)
        return self.runner.session

    @property
    def namespace(self) -> dict[str, Any]:
        """Namespace that the setup of an engine in this process has filled."""
        return self.session.namespace

    def evaluate(self, call: Call, /, **names: Any) -> Any:
        """Return the result of a call in this process, with variables bound to tensors of the engine."""
        return self.session.call(call_wire(call), names)

    def make(self, constant: Constant, *, requires_grad: bool) -> Any:
        """Make a tensor of the library in this process."""
        return self.evaluate(calls.tensor_of(self.adapter, constant, "made", requires_grad=requires_grad))

    def apply(self, step: Apply, arguments: Sequence[Any], scenario: Scenario | None = None) -> Any:
        """Apply an operator to tensors in this process, spelled as in a scenario if that is given."""
        spelling = self.operators[step.operator] if scenario is None else self.spelling(step, scenario)
        operands = dict(zip(step.arguments, arguments, strict=True))
        return self.session.call(call_wire(calls.application(step, spelling)), operands)

    @cached_property
    def spellings(self) -> Mapping[str, tuple[str, ...]]:
        """Spellings of each operator that the library has."""
        return spellings(self.adapter, self.runner.members)

    @cached_property
    def operators(self) -> Mapping[str, str]:
        """First spelling of each operator that the library has."""
        return {name: texts[0] for name, texts in self.spellings.items()}

    def spelling(self, step: Apply, scenario: Scenario) -> str:
        """Return the spelling of an application in a scenario. Raises AdapterError if the engine lacks the operator."""
        if step.operator not in self.spellings:
            raise self.adapter.error(f"the engine has no operator {step.operator!r}, which the scenario applies")
        return chosen(self.spellings[step.operator], step, scenario)

    def absent(self, scenario: Scenario) -> list[str]:
        """Return the operators of a scenario that the library lacks."""
        return sorted(scenario.operators - self.operators.keys())

    def offers(self, operator: Operator) -> bool:
        """Return True if the library has an operator. One of scalars only has elementwise operators only."""
        return operator.name in self.operators and (operator.elementwise or not self.adapter.scalars_only)

    def program(self, scenario: Scenario, *, watch_seeds: bool = False) -> Program:
        """Return the program of a scenario."""
        return program_of(scenario, self.adapter, self.spelling, watch_seeds=watch_seeds)

    def run(self, program: Program) -> tuple[Observation, ...]:
        """Run a program and return the observations of its steps; that of a step in which the runner ended says how."""
        return self.read(program, self.runner.run([program])[0])

    def read(self, program: Program, result: ProgramResult) -> tuple[Observation, ...]:
        """Return the observations of a program, with errors marked that mean unsupported according to the adapter."""
        if isinstance(result, Ending):
            seen = [Observation() for _ in program.groups]
            if seen:
                seen[min(max(result.step, 1), len(seen)) - 1] = Observation(ending=result)
            return tuple(seen)
        if not self.adapter.refusals:
            return result
        return tuple(each if each.error is None else replace(each, error=self.marked(each.error)) for each in result)

    def marked(self, error: Raised) -> Raised:
        """Return an error, marked as unsupported if the adapter declares it so."""
        refused = not error.is_unsupported and self.adapter.refuses(error.text)
        return replace(error, bases=(*error.bases, UNSUPPORTED)) if refused else error


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """How an engine runs: in another process, of an interpreter and within limits, or in this process."""

    in_process: bool = False
    python: str = sys.executable
    limits: Limits = field(default_factory=Limits)


def launch(adapter: AnyAdapter, isolation: Isolation) -> Engine:
    """Start an engine. The reference engine runs in this process, as it contains no third-party code.

    Raises EngineStartError if the engine cannot be started.
    """
    if isolation.in_process and not adapter.runs_here:
        raise EngineStartError(f"engine {adapter.name!r} cannot be started in this process; leave out --in-process")
    if isolation.in_process or (isolation.python == sys.executable and is_reference_engine(adapter)):
        return Engine(adapter)
    return Engine(adapter, ProcessRunner(adapter, isolation.python, isolation.limits))


@cache
def start(adapter: AnyAdapter | str, python: str | None = None) -> Engine:
    """Start an engine once: in this process, or in one of another language or of the interpreter ``python``.

    ``adapter`` is an adapter or what `find_adapter` takes: the name of an engine, a path that ends in .toml, or
    ``module:object``. Raise AdapterError if there is no such adapter, and EngineStartError if the engine cannot start.
    """
    adapter = find_adapter(adapter) if isinstance(adapter, str) else adapter
    here = python is None and adapter.runs_here
    return launch(adapter, Isolation(in_process=here, python=python or sys.executable))


def observe(scenario: Scenario, engine: Engine, *, seeds: bool = False) -> tuple[Observation, ...]:
    """Run a scenario on an engine and return the observation of each step. The steps after a failed one run, too.

    With ``seeds``, the seeds of a tape engine are read again after each backward. A scenario that has ended a runner is
    not run again; its known observations are returned.
    """
    known = engine.fatal.get(scenario.id) if engine.fatal else None
    if known is not None:
        return known
    result = engine.prepared.pop((scenario, seeds), None) if engine.prepared else None
    if result is None:
        if engine.watch is not None and isinstance(engine.runner, LocalRunner):
            engine.runner.watch = engine.watch(scenario)
        engine.runner.hurried = bool(engine.hung) and engine.hangs(scenario.operators)
        result = engine.run(engine.program(scenario, watch_seeds=seeds))
        engine.runner.hurried = False
    seen = tuple(map(_completed, scenario.steps, result))
    for step, each in zip(scenario.steps, seen, strict=True):
        if each.ending is not None:
            engine.fatal[scenario.id] = seen
            if each.ending.outcome == "hung":
                engine.hung.add(frozenset({step.operator}) if isinstance(step, Apply) else scenario.operators)
    return _with_changes(scenario, seen) if seeds else seen


def prepare(scenarios: Sequence[Scenario], engine: Engine, *, seeds: bool = False) -> None:
    """Run scenarios in one batch on an engine in another process; :func:`observe` returns their observations.

    Earlier prepared observations that were not used are discarded.
    """
    engine.prepared.clear()
    if not isinstance(engine.runner, ProcessRunner):
        return
    unknown = [scenario for scenario in scenarios if not engine.fatal or scenario.id not in engine.fatal]
    programs = [engine.program(scenario, watch_seeds=seeds) for scenario in unknown]
    engine.runner.hurried = bool(engine.hung) and any(engine.hangs(scenario.operators) for scenario in unknown)
    answers = engine.runner.run_until_ended(programs)  # a scenario that ends the process once ends it again and again
    engine.runner.hurried = False
    for scenario, program, each in zip(unknown, programs, answers, strict=False):
        engine.prepared[scenario, seeds] = engine.read(program, each)


def _completed(step: Step, seen: Observation) -> Observation:
    """Return the observation of a step, with the arrays that a hook received stacked along a new first axis."""
    if not (isinstance(step, Read) and step.what == "hook") or seen.error is not None or seen.ending is not None:
        return seen
    if not seen.arrays:
        return Observation(np.zeros(0))
    return Observation(np.stack(seen.arrays), dtype=seen.arrays[0].dtype.name)


def _with_changes(scenario: Scenario, seen: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """Add to the observation of each backward the earlier seeds that have changed, which no backward may write to."""
    seeds = [step.seed for step in scenario.steps if isinstance(step, Backward | Grad) and step.seed is not None]
    return tuple(
        replace(each, changed=tuple(_changes(each.arrays, seeds))) if isinstance(step, Backward) else each
        for step, each in zip(scenario.steps, seen, strict=True)
    )


def _changes(arrays: Sequence[Array], seeds: Sequence[Constant]) -> Iterator[str]:
    """Yield a description of each seed, counted from 1, that has changed."""
    for number, (array, seed) in enumerate(zip(arrays, seeds, strict=False), 1):
        if changed := _change(array, seed.to_numpy().astype(array.dtype)):
            yield f"seed {number} is {changed}"


def _change(array: Array, before: Array) -> str:
    """Describe the first entry that has changed; return an empty string if none has."""
    if array.shape != before.shape:
        return f"of the shape {array.shape}, and was of {before.shape}"
    if np.array_equal(array, before, equal_nan=True):
        return ""
    entry = np.argwhere((array != before) & ~((array != array) & (before != before)))[0]  # noqa: PLR0124 (NaN)
    index = tuple(map(int, entry))
    return f"entry {index}: {array[index]}, and was {before[index]}"


def reproduce(scenario: Scenario, engine: Engine, *, seeds: bool = False) -> str:
    """Return a program that runs a scenario without refgrad and prints what the scenario reads.

    With ``seeds``, the program of a tape engine also prints the seeds after each backward.
    """
    plain = all(leaf.value.dtype in ("float64", "bool") for leaf in scenario.leaves)
    program = engine.program(scenario, watch_seeds=seeds)
    failing = failing_steps(scenario, engine.adapter.policy)
    language = replace(engine.adapter.syntax, dtypes=not plain)
    groups = ((Attempt(group),) if at in failing else group for at, group in enumerate(program.groups))
    return language.whole(engine.adapter.setup, "\n".join(program_lines(chain.from_iterable(groups), language)))
