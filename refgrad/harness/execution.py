"""What does an engine do with a scenario, step by step?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.harness.adapter import AnyAdapter, FunctionalAdapter, TapeAdapter
from refgrad.harness.forward_mode import push
from refgrad.harness.life import Life
from refgrad.harness.observation import Observation, Raised
from refgrad.harness.relevance import needed_results, relevant_leaves
from refgrad.harness.spelling import chosen, spellings
from refgrad.harness.template import Template
from refgrad.interpreter import keywords
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Apply, Backward, Constant, Grad, Jvp, Leaf, Read, Scenario, ZeroGrad

Array = npt.NDArray[Any]

REMEMBERED: Final = 50
"""How many scenarios an engine runs before it forgets: JAX keeps some 10 MB of each, in programs for shapes."""


class EngineStartError(RuntimeError):
    """An engine cannot be started, e.g. because it is not installed; the message says why and what to do."""


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
        self._runs = 0

    @cached_property
    def spellings(self) -> Mapping[str, tuple[str, ...]]:
        """How each operator that the library has can be spelled."""
        return spellings(self.adapter, self.namespace)

    @cached_property
    def operators(self) -> Mapping[str, str]:
        """How each operator is spelled in the first place."""
        return {name: texts[0] for name, texts in self.spellings.items()}

    def spelling(self, step: Apply, scenario: Scenario) -> str:
        """How one application in a scenario is spelled."""
        return chosen(self.spellings[step.operator], step, scenario)

    def offers(self, operator: Operator) -> bool:
        """Whether the library has an operator."""
        return operator.name in self.operators and (operator.elementwise or not self.adapter.scalars_only)

    def run(self, template: str, **fields: Any) -> Any:
        """Run a template of the adapter with its fields."""
        if template not in self._compiled:
            self._compiled[template] = Template(template).compile(self.namespace)
        return self._compiled[template](**fields)

    def begin(self, scenario: Scenario) -> None:
        """Get ready for a scenario, which may be the one after which the library forgets."""
        self.watch(scenario)
        self._runs += 1
        if self.adapter.forget is not None and self._runs % REMEMBERED == 0:
            self.run(self.adapter.forget)

    def make(self, constant: Constant, *, requires_grad: bool) -> Any:
        """Make a tensor of the library."""
        array = constant.to_numpy().copy()
        template = self.adapter.leaf if requires_grad else self.adapter.constant_text
        scalar = array.item() if array.ndim == 0 else None
        text = Template(template).of_dtype(constant.dtype).text
        return self.run(text, array=array, scalar=scalar, requires_grad=requires_grad)

    def seed(self, array: Array, dtype: str) -> Any:
        """Make the cotangent of an output."""
        return self.run(Template(self.adapter.seed).of_dtype(dtype).text, array=array)

    def apply(self, step: Apply, arguments: list[Any], scenario: Scenario | None = None) -> Any:
        """Apply an operator to tensors of the library, spelled as in a scenario if that is given."""
        operator = operator_table()[step.operator]
        variadic = operator.arguments[0].variadic
        fields = (
            {operator.arguments[0].name: arguments}
            if variadic
            else dict(zip(operator.argument_names, arguments, strict=True))
        )
        spelling = self.operators[step.operator] if scenario is None else self.spelling(step, scenario)
        return self.run(spelling, **fields, **operator.bind(keywords(step)))

    def read(self, template: str, **fields: Any) -> Array | None:
        """Read an array out of the library; None stays None."""
        result = self.run(template, **fields)
        return None if result is None else np.array(result)

    def look(self, template: str, dtype: str | None, **fields: Any) -> Observation:
        """Read an array and its dtype out of the library; arrays of a dtype that numpy lacks are made float64."""
        array = self.read(template, **fields)
        if array is None:
            return Observation()
        name = array.dtype.name if dtype is None else str(self.run(dtype, **fields)).rpartition(".")[2]
        return Observation(array.astype(np.float64) if array.dtype.name == "bfloat16" else array, dtype=name)


@cache
def start(adapter: AnyAdapter) -> Engine:
    """Start an engine, once a process."""
    return Engine(adapter)


def observe(scenario: Scenario, engine: Engine, *, seeds: bool = False) -> tuple[Observation, ...]:
    """Run a scenario on an engine, step by step; a step that fails does not keep the others from being tried.

    Warnings are the engine's own affair and are not shown. With ``seeds`` those of a tape engine are looked at again
    after each backward.
    """
    engine.begin(scenario)
    tape = isinstance(engine.adapter, TapeAdapter)
    run = _TapeRun(engine, scenario, [] if seeds else None) if tape else _FunctionalRun(engine, scenario)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"), run.recording():
        return tuple(_attempt(run, step) for step in scenario.steps)


def _attempt(run: _TapeRun | _FunctionalRun, step: object) -> Observation:
    try:
        return run.step(step)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever an engine raises is an observation)
        return Observation(error=Raised.of(error))


@dataclass(slots=True)
class _TapeRun:
    engine: Engine
    scenario: Scenario
    watched: list[tuple[Any, Constant]] | None = None
    tensors: dict[str, Any] = field(default_factory=dict)
    life: Life = field(init=False)

    def __post_init__(self) -> None:
        """Let the steps in which tensors change see the same tensors."""
        assert isinstance(self.engine.adapter, TapeAdapter)
        self.life = Life(self.engine, self.engine.adapter, self.tensors)

    def step(self, step: object) -> Observation:
        adapter = self.engine.adapter
        assert isinstance(adapter, TapeAdapter)
        match step:
            case Leaf(name=name):
                self.tensors[name] = self.engine.make(step.value, requires_grad=step.requires_grad)
            case Apply(name=name):
                self.tensors[name] = self.engine.apply(step, [self.tensors[a] for a in step.arguments], self.scenario)
            case Grad(name=name):
                self.tensors[name] = self.gradient(step, adapter)
            case Jvp(name=name):
                self.tensors[name] = push(step, self.engine, self.tensors, self.scenario)
            case Backward(output=output, seed=seed):
                self.engine.run(
                    adapter.backward,
                    output=self.tensors[output],
                    seed=self.seed(seed),
                    retain_graph=step.retain_graph,
                )
                return Observation(changed=self.changed_seeds())
            case ZeroGrad(name=name):
                template = adapter.zero_grad_to_zeros if step.to_zeros else adapter.zero_grad
                assert template is not None
                self.engine.run(template, leaf=self.tensors[name])
            case Read(what="value", name=name):
                return self.engine.look(adapter.value, adapter.value_dtype, x=self.tensors[name])
            case Read(what="grad", name=name):
                return self.engine.look(adapter.gradient, adapter.gradient_dtype, leaf=self.tensors[name])
            case _:
                return self.life.step(step)
        return Observation()

    def recording(self) -> AbstractContextManager[Any]:
        """Return a region in which a mode that an earlier scenario left behind does not matter."""
        template = self.life.adapter.enable_grad
        region: AbstractContextManager[Any] = nullcontext() if template is None else self.engine.run(template)
        return region

    def gradient(self, step: Grad, adapter: TapeAdapter) -> Any:
        assert adapter.grad is not None
        output, leaf = self.tensors[step.output], self.tensors[step.leaf]
        return self.engine.run(adapter.grad, output=output, leaf=leaf, seed=self.seed(step.seed))

    def seed(self, seed: Constant | None) -> Any:
        if seed is None:
            return None
        made = self.engine.seed(seed.to_numpy().copy(), seed.dtype)
        if self.watched is not None:
            self.watched.append((made, seed))
        return made

    def changed_seeds(self) -> tuple[str, ...]:
        """Say which seeds so far, counted from 1, are no longer what they were: a backward may read them only."""
        value, watched = self.engine.adapter.value, self.watched or []
        now = [m if isinstance(m, np.ndarray) else self.engine.look(value, None, x=m).array for m, _ in watched]
        return tuple(
            f"seed {number} is {changed}"
            for number, (array, (_, seed)) in enumerate(zip(now, watched, strict=True), 1)
            if array is not None and (changed := _change(array, seed.to_numpy().astype(array.dtype)))
        )


def _change(array: Array, before: Array) -> str:
    """Say of the first entry that is another one what it is and was."""
    if array.shape != before.shape:
        return f"of the shape {array.shape}, and was of {before.shape}"
    if np.array_equal(array, before, equal_nan=True):
        return ""
    entry = np.argwhere((array != before) & ~((array != array) & (before != before)))[0]  # noqa: PLR0124 (NaN)
    place = tuple(map(int, entry))
    return f"entry {place}: {array[place]}, and was {before[place]}"


@dataclass(slots=True)
class _FunctionalRun:
    engine: Engine
    scenario: Scenario
    tensors: dict[str, Any] = field(default_factory=dict)
    pullbacks: dict[str, tuple[Any, Callable[[Any], Any]]] = field(default_factory=dict)
    gradients: dict[str, Observation] = field(default_factory=dict)

    def step(self, step: object) -> Observation:
        adapter = self.engine.adapter
        match step:
            case Leaf(name=name):
                self.tensors[name] = self.engine.make(step.value, requires_grad=step.requires_grad)
            case Apply(name=name):
                self.tensors[name] = self.engine.apply(step, [self.tensors[a] for a in step.arguments], self.scenario)
            case Grad(name=name):
                self.tensors[name] = self.gradient(step, self.tensors)
            case Jvp(name=name):
                self.tensors[name] = push(step, self.engine, self.tensors, self.scenario)
            case Backward():
                self.backward(step)
            case ZeroGrad(name=name):
                self.gradients.pop(name, None)
            case Read(what="value", name=name):
                return self.engine.look(adapter.value, adapter.value_dtype, x=self.tensors[name])
            case Read(name=name):
                return self.gradients.get(name, Observation())
        return Observation()

    def recording(self) -> AbstractContextManager[Any]:
        """Return a region that does nothing: there is no mode."""
        return nullcontext()

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
            seen = self.engine.look(adapter.value, adapter.value_dtype, x=cotangent)
            self.gradients[name] = _added(self.gradients[name], seen) if name in self.gradients else seen

    def seed(self, step: Backward | Grad) -> Any:
        if step.seed is not None:
            return self.engine.seed(step.seed.to_numpy().copy(), step.seed.dtype)
        adapter = self.engine.adapter
        seen = self.engine.look(adapter.value, adapter.value_dtype, x=self.tensors[step.output])
        return self.engine.seed(np.ones_like(seen.array), seen.dtype)

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
                    tensors[step.name] = self.engine.apply(step, [tensors[a] for a in step.arguments], self.scenario)
            return tensors[output]

        return program


def _added(total: Observation, another: Observation) -> Observation:
    """Add up two gradients of a leaf."""
    assert total.array is not None
    assert another.array is not None
    return Observation(np.asarray(total.array + another.array), dtype=another.dtype)
