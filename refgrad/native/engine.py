"""An engine that programs are run on: its adapter, its runner, its spellings, and what its scenarios showed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from refgrad.native import calls
from refgrad.native.adapter import AnyAdapter, chosen, is_reference_engine, spellings
from refgrad.native.languages import language_of
from refgrad.native.observation import REFUSAL, Array, Ending, Observation, Raised
from refgrad.native.printing import failing_steps, printed
from refgrad.native.process import Limits
from refgrad.native.program import Program, program_of
from refgrad.native.runner import LocalRunner, ProcessRunner, Runner, Shown
from refgrad.native.runners.python_runner import Session
from refgrad.native.statements import Call, call_wire
from refgrad.operators import Operator
from refgrad.scenario import Apply, Backward, Constant, Grad, Read, Scenario, Step


class Engine:
    """A started engine: what its adapter says of it, and the runner that executes programs on it."""

    def __init__(self, adapter: AnyAdapter, runner: Runner | None = None) -> None:
        """Use a runner in this process if none is given. Raises EngineStartError where that cannot be started."""
        self.adapter = adapter
        self.runner = LocalRunner(adapter) if runner is None else runner
        self.fatal: dict[str, tuple[Observation, ...]] = {}
        """What scenarios showed in which the engine's process ended, by their ids."""
        self.watch: Callable[[Scenario], Callable[[int], None]] | None = None
        """What is called with each scenario that runs in this process, and returns what its steps are reported to."""
        self.hung: set[frozenset[str]] = set()
        """The operators of scenarios that gave no answer; a single one if it is known which one was being applied."""
        self.prepared: dict[tuple[Scenario, bool], tuple[Observation, ...]] = {}
        """What scenarios showed that were run ahead, each by whether seeds were watched."""

    def has_run(self, scenario: Scenario) -> bool:
        """Whether it is known already what a scenario shows: it ended a process, or was prepared."""
        return scenario.id in self.fatal or any(known == scenario for known, _seeds in self.prepared)

    def forget(self, scenario: Scenario) -> None:
        """Let a scenario be run again that ended a process, within the whole time limit."""
        self.fatal.pop(scenario.id, None)
        self.hung = {operators for operators in self.hung if not operators <= scenario.operators}

    def hangs(self, operators: frozenset[str]) -> bool:
        """Return True if a scenario that used only these operators gave no answer."""
        return any(known <= operators for known in self.hung)

    @property
    def session(self) -> Session:
        """The namespace of an engine in this process."""
        assert isinstance(self.runner, LocalRunner)
        return self.runner.session

    @property
    def namespace(self) -> dict[str, Any]:
        """What the setup of an engine in this process has made."""
        namespace: dict[str, Any] = self.session.namespace
        return namespace

    def evaluate(self, call: Call, /, **names: Any) -> Any:
        """Return what a call gives, in this process, with variables that are bound to tensors of the engine."""
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
        """How each operator that the library has can be spelled."""
        return spellings(self.adapter, self.runner.members)

    @cached_property
    def operators(self) -> Mapping[str, str]:
        """How each operator is spelled in the first place."""
        return {name: texts[0] for name, texts in self.spellings.items()}

    def spelling(self, step: Apply, scenario: Scenario) -> str:
        """How one application in a scenario is spelled. Raises AdapterError for an operator that the engine lacks."""
        if step.operator not in self.spellings:
            raise self.adapter.error(f"the engine has no operator {step.operator!r}, which the scenario applies")
        return chosen(self.spellings[step.operator], step, scenario)

    def absent(self, scenario: Scenario) -> list[str]:
        """Return the operators of a scenario that the library lacks."""
        return sorted(scenario.operators - self.operators.keys())

    def offers(self, operator: Operator) -> bool:
        """Whether the library has an operator."""
        return operator.name in self.operators and (operator.elementwise or not self.adapter.scalars_only)

    def program(self, scenario: Scenario, *, watch_seeds: bool = False) -> Program:
        """Return the program that a scenario means."""
        return program_of(scenario, self.adapter, self.spelling, watch_seeds=watch_seeds)

    def run(self, program: Program) -> tuple[Observation, ...]:
        """Return what each step of a program showed; the step in which the runner ended shows how."""
        (seen,) = self.run_all([program])
        return seen

    def run_all(self, programs: Sequence[Program]) -> list[tuple[Observation, ...]]:
        """Return what each step of several programs showed."""
        return [
            self.read(program, answers) for program, answers in zip(programs, self.runner.run(programs), strict=True)
        ]

    def read(self, program: Program, shown: Shown) -> tuple[Observation, ...]:
        """Return what the steps of a program showed, with the refusals that the adapter declares marked as such."""
        seen = _read(program, shown)
        return tuple(map(self._marked, seen)) if self.adapter.refusals else seen

    def _marked(self, seen: Observation) -> Observation:
        return seen if seen.error is None else replace(seen, error=self.told(seen.error))

    def told(self, error: Raised) -> Raised:
        """Return an error, which is a refusal too if the adapter says so."""
        refused = not error.is_refusal and self.adapter.refuses(error.text)
        return replace(error, bases=(*error.bases, REFUSAL)) if refused else error


def _read(program: Program, shown: Shown) -> tuple[Observation, ...]:
    """Return what the steps of a program showed; the step in which the runner ended shows how."""
    if not isinstance(shown, Ending):
        return shown
    seen = [Observation() for _ in program.groups]
    if seen:
        seen[min(max(shown.step, 1), len(seen)) - 1] = Observation(ending=shown)
    return tuple(seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """How an engine is run: in a process of an interpreter within limits, or in this process."""

    in_process: bool = False
    python: str = sys.executable
    limits: Limits = field(default_factory=Limits)


def launch(adapter: AnyAdapter, isolation: Isolation) -> Engine:
    """Start an engine. What is part of refgrad itself runs in this process, as nothing of a third party is in it.

    Raises EngineStartError where it cannot be started.
    """
    ours = isolation.python == sys.executable and is_reference_engine(adapter)
    if isolation.in_process or ours:
        return Engine(adapter)
    return Engine(adapter, ProcessRunner(adapter, isolation.python, isolation.limits))


@cache
def start(adapter: AnyAdapter, python: str | None = None) -> Engine:
    """Start an engine once: in this process, or in that of another language or of the interpreter that is named."""
    here = python is None and adapter.language == "python"
    return Engine(adapter) if here else launch(adapter, Isolation(python=python or sys.executable))


def observe(scenario: Scenario, engine: Engine, *, seeds: bool = False) -> tuple[Observation, ...]:
    """Run a scenario on an engine, step by step; a step that fails does not keep the others from being tried.

    With ``seeds`` those of a tape engine are looked at again after each backward. A scenario that has ended a runner is
    not run again: it is known what it shows.
    """
    known = engine.fatal.get(scenario.id) if engine.fatal else None
    if known is not None:
        return known
    shown = engine.prepared.pop((scenario, seeds), None) if engine.prepared else None
    if shown is None:
        if engine.watch is not None and isinstance(engine.runner, LocalRunner):
            engine.runner.watch = engine.watch(scenario)
        engine.runner.hurried = bool(engine.hung) and engine.hangs(scenario.operators)
        shown = engine.run(engine.program(scenario, watch_seeds=seeds))
        engine.runner.hurried = False
    seen = tuple(map(_completed, scenario.steps, shown))
    for step, each in zip(scenario.steps, seen, strict=True):
        if each.ending is not None:
            engine.fatal[scenario.id] = seen
            if each.ending.outcome == "hung":
                engine.hung.add(frozenset({step.operator}) if isinstance(step, Apply) else scenario.operators)
    return _with_changes(scenario, seen) if seeds else seen


def prepare(scenarios: Sequence[Scenario], engine: Engine, *, seeds: bool = False) -> None:
    """Run scenarios in one batch on an engine in another process; :func:`observe` returns what they showed.

    What was prepared before and not asked for is forgotten.
    """
    engine.prepared.clear()
    if not isinstance(engine.runner, ProcessRunner):
        return
    unknown = [scenario for scenario in scenarios if not engine.fatal or scenario.id not in engine.fatal]
    programs = [engine.program(scenario, watch_seeds=seeds) for scenario in unknown]
    engine.runner.hurried = bool(engine.hung) and any(engine.hangs(scenario.operators) for scenario in unknown)
    answers = engine.runner.run_until_ended(programs)  # what ends the process once ends it time and again
    engine.runner.hurried = False
    for scenario, program, each in zip(unknown, programs, answers, strict=False):
        engine.prepared[scenario, seeds] = engine.read(program, each)


def _completed(step: Step, seen: Observation) -> Observation:
    """Return what a hook saw as one array, along a new first axis."""
    if not (isinstance(step, Read) and step.what == "hook") or seen.error is not None or seen.ending is not None:
        return seen
    if not seen.arrays:
        return Observation(np.zeros(0))
    return Observation(np.stack(seen.arrays), dtype=seen.arrays[0].dtype.name)


def _with_changes(scenario: Scenario, seen: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """Say of each backward which seeds so far are no longer what they were: it may read them only."""
    seeds = [step.seed for step in scenario.steps if isinstance(step, Backward | Grad) and step.seed is not None]
    return tuple(
        replace(each, changed=changed)
        if (changed := tuple(_changes(each.arrays, seeds)) if isinstance(step, Backward) else ())
        else each
        for step, each in zip(scenario.steps, seen, strict=True)
    )


def _changes(arrays: Sequence[Array], seeds: Sequence[Constant]) -> Iterator[str]:
    """Yield what has become of those seeds, counted from 1, that have changed."""
    for number, (array, seed) in enumerate(zip(arrays, seeds, strict=False), 1):
        changed = _change(array, seed.to_numpy().astype(array.dtype))
        if changed:
            yield f"seed {number} is {changed}"


def _change(array: Array, before: Array) -> str:
    """Say of the first entry that is another one what it is and was."""
    if array.shape != before.shape:
        return f"of the shape {array.shape}, and was of {before.shape}"
    if np.array_equal(array, before, equal_nan=True):
        return ""
    entry = np.argwhere((array != before) & ~((array != array) & (before != before)))[0]  # noqa: PLR0124 (NaN)
    place = tuple(map(int, entry))
    return f"entry {place}: {array[place]}, and was {before[place]}"


def reproduce(scenario: Scenario, engine: Engine, *, seeds: bool = False) -> str:
    """Return a scenario as a program that imports nothing of refgrad and prints what the scenario reads.

    With ``seeds`` the program of a tape engine prints behind each backward what has become of the seeds, too.
    """
    plain = all(leaf.value.dtype in ("float64", "bool") for leaf in scenario.leaves)
    program = engine.program(scenario, watch_seeds=seeds)
    failing = failing_steps(scenario, engine.adapter.policy)
    language = language_of(engine.adapter.language, dtypes=not plain)
    return printed(program.groups, engine.adapter.setup, language, failing)
