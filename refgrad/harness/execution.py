"""What does an engine do with a scenario, step by step?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.harness.adapter import AnyAdapter, FunctionalAdapter, TapeAdapter
from refgrad.harness.template import Template
from refgrad.interpreter import keywords
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Backward, Constant, Grad, Leaf, Read, Scenario, ZeroGrad

Array = npt.NDArray[Any]


class EngineStartError(RuntimeError):
    """An engine cannot be started, e.g. because it is not installed; the message says why and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """What a step showed: an array, no gradient (None), an error, or nothing but having run."""

    array: Array | None = None
    error: BaseException | None = None

    @property
    def error_text(self) -> str:
        """The error as ``Type: message``."""
        return "" if self.error is None else f"{type(self.error).__name__}: {self.error}"


class Engine:
    """A started engine: its namespace, and its phrasebook compiled to functions."""

    def __init__(self, adapter: AnyAdapter) -> None:
        """Run the adapter's setup. Raises EngineStartError where that fails."""
        self.adapter = adapter
        self.namespace: dict[str, Any] = {"np": np}
        try:
            exec(compile(adapter.setup, f"<setup of {adapter.name}>", "exec"), self.namespace)
        except Exception as error:
            message = f"engine {adapter.name!r} cannot be started: {type(error).__name__}: {error}"
            raise EngineStartError(message) from error
        self._compiled: dict[str, Callable[..., Any]] = {}
        self.watch: Callable[[Scenario], object] = lambda _: None
        """Called with every scenario before it is run, so that it is known should the engine take the process down."""
        self.lethal: frozenset[str] = frozenset()
        """Ids of scenarios that have taken a process down: they are not run again."""

    @cached_property
    def operators(self) -> Mapping[str, str]:
        """How each operator is spelled: those of the adapter, and those that the library calls by the table's names."""
        found = {
            operator.name: f"{module}.{name}({', '.join(f'{{{a}}}' for a in operator.argument_names)})"
            for module in reversed(self.adapter.alike)
            for operator in operator_table().values()
            for name in reversed((operator.name, *operator.aliases))
            if operator.elementwise and not operator.attributes and hasattr(eval(module, self.namespace), name)
        }
        return {**found, **self.adapter.operators}

    def run(self, template: str, **fields: Any) -> Any:
        """Run a template of the adapter with its fields."""
        if template not in self._compiled:
            self._compiled[template] = Template(template).compile(self.namespace)
        return self._compiled[template](**fields)

    def make(self, constant: Constant, *, requires_grad: bool) -> Any:
        """Make a tensor of the library."""
        array = constant.to_numpy().copy()
        template = self.adapter.leaf if requires_grad else self.adapter.constant_text
        scalar = array.item() if array.ndim == 0 else None
        return self.run(template, array=array, scalar=scalar, requires_grad=requires_grad)

    def apply(self, step: Apply, arguments: list[Any]) -> Any:
        """Apply an operator to tensors of the library."""
        operator = operator_table()[step.operator]
        variadic = operator.arguments[0].variadic
        fields = (
            {operator.arguments[0].name: arguments}
            if variadic
            else dict(zip(operator.argument_names, arguments, strict=True))
        )
        return self.run(self.operators[step.operator], **fields, **operator.bind(keywords(step)))

    def read(self, template: str, **fields: Any) -> Array | None:
        """Read an array out of the library; None stays None."""
        result = self.run(template, **fields)
        return None if result is None else np.array(result)


@cache
def start(adapter: AnyAdapter) -> Engine:
    """Start an engine, once a process."""
    return Engine(adapter)


def observe(scenario: Scenario, engine: Engine) -> tuple[Observation, ...]:
    """Run a scenario on an engine, step by step; a step that fails does not keep the others from being tried.

    Warnings are the engine's own affair and are not shown.
    """
    engine.watch(scenario)
    run = _TapeRun(engine) if isinstance(engine.adapter, TapeAdapter) else _FunctionalRun(engine, scenario)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        return tuple(_attempt(run, step) for step in scenario.steps)


def _attempt(run: _TapeRun | _FunctionalRun, step: object) -> Observation:
    try:
        return run.step(step)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever an engine raises is an observation)
        return Observation(error=error)


@dataclass(slots=True)
class _TapeRun:
    engine: Engine
    tensors: dict[str, Any] = field(default_factory=dict)

    def step(self, step: object) -> Observation:
        adapter = self.engine.adapter
        assert isinstance(adapter, TapeAdapter)
        match step:
            case Leaf(name=name):
                self.tensors[name] = self.engine.make(step.value, requires_grad=step.requires_grad)
            case Apply(name=name):
                self.tensors[name] = self.engine.apply(step, [self.tensors[a] for a in step.arguments])
            case Grad(name=name):
                self.tensors[name] = self.gradient(step, adapter)
            case Backward(output=output, seed=seed):
                self.engine.run(
                    adapter.backward,
                    output=self.tensors[output],
                    seed=self.seed(seed, adapter),
                    retain_graph=step.retain_graph,
                )
            case ZeroGrad(name=name):
                assert adapter.zero_grad is not None
                self.engine.run(adapter.zero_grad, leaf=self.tensors[name])
            case Read(what="value", name=name):
                return Observation(self.engine.read(adapter.value, x=self.tensors[name]))
            case Read(name=name):
                return Observation(self.engine.read(adapter.gradient, leaf=self.tensors[name]))
        return Observation()

    def gradient(self, step: Grad, adapter: TapeAdapter) -> Any:
        assert adapter.grad is not None
        output, leaf = self.tensors[step.output], self.tensors[step.leaf]
        return self.engine.run(adapter.grad, output=output, leaf=leaf, seed=self.seed(step.seed, adapter))

    def seed(self, seed: Constant | None, adapter: TapeAdapter) -> Any:
        return None if seed is None else self.engine.run(adapter.seed, array=seed.to_numpy().copy())


@dataclass(slots=True)
class _FunctionalRun:
    engine: Engine
    scenario: Scenario
    tensors: dict[str, Any] = field(default_factory=dict)
    pullbacks: dict[str, tuple[Any, Callable[[Any], Any]]] = field(default_factory=dict)
    gradients: dict[str, Array] = field(default_factory=dict)

    def step(self, step: object) -> Observation:
        adapter = self.engine.adapter
        match step:
            case Leaf(name=name):
                self.tensors[name] = self.engine.make(step.value, requires_grad=step.requires_grad)
            case Apply(name=name):
                self.tensors[name] = self.engine.apply(step, [self.tensors[a] for a in step.arguments])
            case Grad(name=name):
                self.tensors[name] = self.gradient(step, self.tensors)
            case Backward():
                self.backward(step)
            case ZeroGrad(name=name):
                self.gradients.pop(name, None)
            case Read(what="value", name=name):
                return Observation(self.engine.read(adapter.value, x=self.tensors[name]))
            case Read(name=name):
                return Observation(self.gradients.get(name))
        return Observation()

    def backward(self, step: Backward) -> None:
        adapter = self.engine.adapter
        assert isinstance(adapter, FunctionalAdapter)
        names = relevant_leaves(self.scenario, step.output)
        if step.output not in self.pullbacks:
            function = self.program(names, step.output)
            primals = [self.tensors[name] for name in names]
            self.pullbacks[step.output] = self.engine.run(adapter.vjp, function=function, primals=primals)
        _, pullback = self.pullbacks[step.output]
        cotangents = pullback(self.seed(step))
        for name, cotangent in zip(names, cotangents, strict=True):
            seen = np.array(self.engine.run(adapter.value, x=cotangent))
            self.gradients[name] = seen if name not in self.gradients else self.gradients[name] + seen

    def seed(self, step: Backward | Grad) -> Any:
        value = self.engine.read(self.engine.adapter.value, x=self.tensors[step.output])
        array = np.ones_like(value) if step.seed is None else step.seed.to_numpy()
        return self.engine.run(self.engine.adapter.seed, array=array.copy())

    def gradient(self, step: Grad, tensors: Mapping[str, Any]) -> Any:
        """Return the gradient of a function of one leaf, with the other tensors as they are."""
        adapter = self.engine.adapter
        assert isinstance(adapter, FunctionalAdapter)
        function = self.program([step.leaf], step.output, tensors)
        _, pullback = self.engine.run(adapter.vjp, function=function, primals=[tensors[step.leaf]])
        return pullback(self.seed(step))[0]

    def program(self, names: list[str], output: str, outer: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        """Return the scenario's forward part up to ``output`` as a function of the named leaves.

        Other tensors are ``outer``'s: where a program is differentiated, those that it is differentiated with.
        """

        def program(*primals: Any) -> Any:
            tensors: dict[str, Any] = {**(outer or self.tensors), **dict(zip(names, primals, strict=True))}
            for step in needed_results(self.scenario, output):
                if isinstance(step, Grad):
                    tensors[step.name] = self.gradient(step, tensors)
                else:
                    tensors[step.name] = self.engine.apply(step, [tensors[a] for a in step.arguments])
            return tensors[output]

        return program


def needed_results(scenario: Scenario, output: str) -> list[Apply | Grad]:
    """The applications and recorded gradients that ``output`` depends on, in order."""
    needed = {output}
    found: list[Apply | Grad] = []
    for step in reversed(tuple(scenario.definitions.values())):
        if step.name in needed and not isinstance(step, Leaf):
            needed.update(step.uses)
            found.append(step)
    return found[::-1]


def relevant_leaves(scenario: Scenario, output: str) -> list[str]:
    """The leaves that require grad and that ``output`` depends on, in order."""
    used: set[str] = {output}
    for step in needed_results(scenario, output):
        used.update(step.uses)
    return [leaf.name for leaf in scenario.leaves if leaf.requires_grad and leaf.name in used]
