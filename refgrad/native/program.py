"""Programs: scenarios as statements of an engine's language, made from the adapter's templates, one group per step."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from refgrad.interpreter import Float64, evaluate, native
from refgrad.native import calls, statements
from refgrad.native.adapter import AnyAdapter, FunctionalAdapter, TapeAdapter
from refgrad.native.calls import call
from refgrad.native.statements import Argument, Call, Name, Names, Show, Statement, Value
from refgrad.scenario import Apply, Backward, Constant, FunctionCall, Grad, Jvp, Leaf, Read, Scenario, Step, kinds
from refgrad.scenario.functions import COTANGENT, ScenarioFunction, scenario_functions
from refgrad.scenario.rewrite import floating_dtypes, fresh_name, needed, promoted

Group: TypeAlias = tuple[Statement, ...]
Result: TypeAlias = Apply | FunctionCall | Grad
Spell: TypeAlias = Callable[[Apply, Scenario], str]
"""Function that returns the spelling of an application in a scenario."""


@dataclass(frozen=True, slots=True)
class Program:
    """Statements in groups, one group per step.

    ``around`` creates a region around the program, in which a mode that an earlier program left on has no effect. With
    ``keep`` the objects of the program are held until a program without it has run, so that the next one gets other
    addresses in memory.
    """

    groups: tuple[Group, ...]
    around: Call | None = None
    keep: bool = False

    def wire(self) -> statements.Wire:
        """Return the JSON form that is sent to a runner."""
        around = None if self.around is None else statements.call_wire(self.around)
        steps = [list(map(statements.statement_wire, group)) for group in self.groups]
        return {"around": around, "steps": steps, **({"keep": True} if self.keep else {})}


def program_of(
    scenario: Scenario, adapter: AnyAdapter, spell: Spell, *, watch_seeds: bool = False, nests: bool = True
) -> Program:
    """Return the program of a scenario on an engine.

    ``spell`` chooses among an operator's spellings. With ``nests``, results whose names are deleted right after their
    only use are nested in the expression that uses them. With ``watch_seeds``, each backward of a tape engine shows
    all seeds so far.
    """
    if isinstance(adapter, TapeAdapter):
        tape = TapeWriter(scenario, adapter, spell, nests, watch_seeds=watch_seeds)
        return Program(tuple(tuple(tape.step(step)) for step in scenario.steps), calls.optional(adapter.enable_grad))
    functional = FunctionalWriter(scenario, adapter, spell, nests)
    return Program(tuple(tuple(functional.step(step)) for step in scenario.steps))


@dataclass(slots=True)
class Writer:
    """Common part of the writers of programs for tape engines and functional engines."""

    scenario: Scenario
    adapter: AnyAdapter
    spell: Spell
    nests: bool
    taken: set[str] = field(default_factory=set)
    nestable: frozenset[str] = field(init=False)
    waiting: dict[str, Call] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.taken |= self.scenario.definitions.keys()
        self.nestable = nestable_results(self.scenario) if self.nests and self.adapter.syntax.nests else frozenset()

    def fresh(self, stem: str) -> str:
        """Return a variable that the program does not have yet."""
        return fresh_name(stem, self.taken)

    def step(self, step: Step) -> Iterable[Statement]:
        """Return the statements of one step by the method that is named after its kind; none if there is none."""
        written: Iterable[Statement] = getattr(self, step.form.tag, lambda _: ())(step)
        return written

    def leaf(self, step: Leaf) -> Iterator[Statement]:
        """Yield the statement that makes a leaf."""
        yield calls.tensor_of(self.adapter, step.value, step.name, requires_grad=step.requires_grad)

    def apply(self, step: Apply) -> Iterator[Statement]:
        """Yield the statements that define a result. One that can be nested waits for its only use."""
        application = calls.application(step, self.spell(step, self.scenario))
        for name in dict.fromkeys(step.arguments):
            if name in self.waiting:
                inner = self.waiting.pop(name)
                nested = application.around(name, inner)
                if nested is None:
                    yield inner
                application = nested or application
        if step.name in self.nestable:
            self.waiting[step.name] = application
        else:
            yield application

    def call(self, step: FunctionCall) -> Iterator[Statement]:
        """Yield a function as functions of the language, one for each nested way, and the call of the outer one."""
        function = scenario_functions()[step.function]
        name = self.fresh(f"forward_of_{step.name}")
        yield statements.LocalFunction(name, function.arguments, tuple(self.lines(function.forward)), function.result)
        for way in reversed(step.ways[1:]):
            fields = yield from self.way_fields(step, way, name, function.arguments)
            name = self.fresh(f"{way}_of_{step.name}")
            body = call(self.adapter.ways[way], function.result, **fields)
            yield statements.LocalFunction(name, function.arguments, (body,), function.result)
        fields = yield from self.way_fields(step, step.ways[0], name, step.arguments)
        yield call(self.adapter.ways[step.ways[0]], step.name, **fields)

    def way_fields(
        self, step: FunctionCall, way: str, name: str, inputs: tuple[str, ...]
    ) -> Generator[Statement, None, dict[str, Argument]]:
        """Return the fields of the template of a way. Yield the function of a rule before."""
        function = scenario_functions()[step.function]
        fields: dict[str, Argument] = {"function": Name(name), "inputs": Names(inputs)}
        if way == "loop":
            fields["count"] = Value(kinds.REPEATS)
        if way == "rule":
            names = (*function.arguments, function.result)
            backward = self.fresh(f"backward_of_{step.name}")
            fields |= {"backward": Name(backward), "saved": Value(tuple(map(names.index, function.saved)))}
            yield self.rule(function, backward)
        return fields

    def rule(self, function: ScenarioFunction, name: str) -> statements.LocalFunction:
        """Return the rule of a function: it takes what it needs and the cotangent, and returns a list of gradients."""
        gradients = {each: function.gradient(each) for each in function.arguments}
        fields = {each: Value(None) if gradient is None else Name(gradient) for each, gradient in gradients.items()}
        listed = call(self.adapter.syntax.listed([f"{{{each}}}" for each in gradients]), "gradients", **fields)
        body = (*self.lines(function.backward), listed)
        return statements.LocalFunction(name, (*function.saved, COTANGENT), body, "gradients")

    def lines(self, steps: Iterable[Step]) -> Iterator[Statement]:
        """Yield the applications of a function's body."""
        for step in steps:
            assert isinstance(step, Apply)
            yield calls.application(step, self.spell(step, self.scenario))

    def within(self, step: Result) -> Iterable[Statement]:
        """Return the statements of a result within a function. Forward mode has no recorded gradients in it."""
        return () if isinstance(step, Grad) else self.step(step)

    def function(self, name: str, parameters: tuple[str, ...], output: str) -> statements.LocalFunction:
        """Return the forward part up to an output as a function of some leaves."""
        results = needed_results(self.scenario, output)
        return statements.LocalFunction(
            name, parameters, tuple(s for step in results for s in self.within(step)), output
        )

    def jvp(self, step: Jvp) -> Iterator[Statement]:
        """Yield the statements that push tangents forward."""
        name = self.fresh(f"function_of_{step.name}")
        yield self.function(name, tuple(step.leaves), step.output)
        tangents = []
        for leaf, tangent in step.tangents:
            tangents.append(self.fresh(f"tangent_of_{leaf}"))
            yield calls.seed(self.adapter, tangent, tangent.dtype, tangents[-1])
        yield call(
            self.adapter.jvp,
            (self.fresh("output"), step.name),
            function=Name(name),
            primals=Names(tuple(step.leaves)),
            tangents=Names(tuple(tangents)),
        )

    def spelled(self, operator: str, otherwise: str) -> str:
        """Return the first spelling of an operator in the adapter, or ``otherwise`` if it has none."""
        return self.adapter.operators.get(operator) or next(iter(self.adapter.aliases.get(operator, ())), otherwise)

    def value(self, name: str) -> Show:
        """Return the statement that shows a tensor's array."""
        dtype = calls.optional(self.adapter.value_dtype, x=Name(name))
        return Show(f"value of {name}", calls.value(self.adapter, name), dtype=dtype)


@dataclass(slots=True)
class TapeWriter(Writer):
    """Writer for engines that record a tape."""

    adapter: TapeAdapter
    watch_seeds: bool = False
    seeds: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)
    deleted: list[statements.Delete] = field(default_factory=list)

    def seed(self, seed: Constant | None) -> tuple[list[Statement], Argument]:
        """Return the statements that make a seed in advance if seeds are watched, and the argument for the seed."""
        if seed is None:
            return [], Value(None)
        if not self.watch_seeds:
            return [], calls.seed(self.adapter, seed, seed.dtype)
        self.seeds.append(self.fresh(f"seed_{len(self.seeds) + 1}"))
        return [calls.seed(self.adapter, seed, seed.dtype, self.seeds[-1])], Name(self.seeds[-1])

    def grad(self, step: Grad) -> Iterator[Statement]:
        """Yield the statements of a recorded gradient."""
        before, seed = self.seed(step.seed)
        yield from before
        yield call(self.adapter.grad, step.name, output=Name(step.output), leaf=Name(step.leaf), seed=seed)

    def zero_grad(self, step: kinds.ZeroGrad) -> Iterator[Statement]:
        """Yield the call that resets a gradient."""
        yield calls.zero_grad(self.adapter, step.name, to_zeros=step.to_zeros)

    def detach(self, step: kinds.Detach) -> Iterator[Statement]:
        """Yield the call that cuts a tensor off the graph."""
        yield call(self.adapter.detach, step.name, x=Name(step.source))

    def enter(self, step: kinds.EnterMode) -> Iterator[Statement]:
        """Yield the beginning of a region."""
        yield statements.Enter(call(self.adapter.no_grad if step.mode == "no_grad" else self.adapter.enable_grad))

    def leave(self, step: kinds.LeaveMode) -> Iterator[Statement]:
        """Yield the end of a region."""
        yield statements.Leave(step.by_error)

    def require_grad(self, step: kinds.RequireGrad | kinds.StopRequiringGrad) -> Iterator[Statement]:
        """Yield the call by which a tensor requires grad, or no longer does."""
        required = Value(isinstance(step, kinds.RequireGrad))
        yield call(self.adapter.set_requires_grad, x=Name(step.name), requires_grad=required)

    stop_requiring_grad = require_grad

    def delete(self, step: kinds.DeleteName) -> Iterator[Statement]:
        """Yield the deletions of variables, once no result waits to be nested."""
        if step.name not in self.nestable:
            self.deleted.append(statements.Delete(step.name))
        if not self.waiting:
            yield from self.deleted
            self.deleted.clear()

    def unhook(self, step: kinds.Unhook) -> Iterator[Statement]:
        """Yield the call that removes a hook."""
        yield call(self.adapter.unhook, handle=Name(step.name))

    def retain_grad(self, step: kinds.RetainGrad) -> Iterator[Statement]:
        """Yield the call by which a tensor retains its gradient."""
        yield call(self.adapter.retain_grad, x=Name(step.name))

    def backward(self, step: Backward) -> Iterator[Statement]:
        """Yield the statements of a backward."""
        before, seed = self.seed(step.seed)
        yield from before
        yield calls.backward(self.adapter, step.output, seed, retain_graph=step.retain_graph)
        if self.seeds and self.adapter.syntax.new_list:
            template = "{x}" if self.adapter.seed == "{array}" else self.adapter.value
            names = tuple(f"look_{number}" for number in range(len(self.seeds)))
            text = self.adapter.syntax.listed([template.replace("{x}", f"{{{name}}}") for name in names])
            fields = {name: Name(seed) for name, seed in zip(names, self.seeds, strict=True)}
            yield Show("the seeds", call(text, **fields), "arrays")

    def write(self, step: kinds.Write) -> Iterator[Statement]:
        """Yield the call that overwrites a tensor."""
        templates = self.adapter.in_place if step.index is None else self.adapter.in_place_at
        yield call(templates[step.action], x=Name(step.name), y=Name(step.operand), index=Value(native(step.index)))

    def hook(self, step: kinds.Hook) -> Iterator[Statement]:
        """Yield the statements of a hook that stores copies of gradients, since the library may change these later."""
        syntax, seen = self.adapter.syntax, self.fresh(f"seen_by_{step.name}")
        self.seen[step.name] = seen
        yield Call(syntax.new_list, {}, (seen,))
        fields: dict[str, Argument] = {"seen": Name(seen), "value": calls.value(self.adapter, "gradient")}
        if step.factor is not None:
            fields |= {"gradient": Name("gradient"), "factor": Value(step.factor), "product": self.product(step.factor)}
        body = call(syntax.recording if step.factor is None else syntax.replacing, **fields)
        yield call(self.adapter.hook, step.name, x=Name(step.tensor), function=statements.Lambda(("gradient",), body))

    def product(self, factor: float) -> Call:
        """Return the call that multiplies a gradient by a factor, with the engine's own ``multiply``."""
        array = Constant.of(np.array(factor))
        other = calls.tensor(
            self.adapter, array=array, scalar=Value(factor), dtype=self.adapter.dtype, requires_grad=False
        )
        return call(self.spelled("multiply", "{x} * {y}"), x=Name("gradient"), y=other)

    def read(self, step: Read) -> Iterator[Show]:
        """Yield the statement that shows what a step reads."""
        name, what = step.name, step.what
        if what == "value":
            yield self.value(name)
        elif what == "grad":
            dtype = calls.optional(self.adapter.gradient_dtype, leaf=Name(name))
            yield Show(f"gradient of {name}", calls.gradient(self.adapter, name), dtype=dtype)
        elif what == "hook":
            yield Show(f"what {name} saw", Call("{seen}", {"seen": Name(self.seen[name])}), "arrays")
        else:
            yield Show(f"{what} of {name}", call(getattr(self.adapter, what), x=Name(name)), "flag")


@dataclass(slots=True)
class FunctionalWriter(Writer):
    """Writer for functional engines. Gradients are bound to variables, to which further backward calls are added."""

    adapter: FunctionalAdapter
    pullbacks: dict[tuple[str, bool], str] = field(default_factory=dict)
    gradients: dict[str, str] = field(default_factory=dict)
    bound: frozenset[str] | None = None
    """Leaves whose gradients are bound to variables, all if None."""

    def within(self, step: Result) -> Iterable[Statement]:
        """Return the statements of a result within a function, gradients included."""
        return self.step(step)

    def pullback(self, step: Backward | Grad, leaves: tuple[str, ...]) -> tuple[str, list[Statement]]:
        """Return the variable of a pullback, and the statements that make it."""
        output = step.output
        function, pullback = self.fresh(f"program_{output}"), self.fresh(f"pullback_of_{output}")
        targets = (self.fresh(f"output_{output}"), pullback)
        vjp = calls.vjp(self.adapter, function, Names(leaves), targets, forward=step.forward)
        return pullback, [self.function(function, leaves, output), vjp]

    def seed(self, step: Backward | Grad) -> Call:
        """Return the call that makes a seed."""
        seed = seed_of(self.scenario, step)
        return calls.seed(self.adapter, seed, seed.dtype)

    def grad(self, step: Grad) -> Iterator[Statement]:
        """Yield the statements of a gradient that can itself be differentiated."""
        pullback, before = self.pullback(step, (step.leaf,))
        yield from before
        syntax = self.adapter.syntax
        first = syntax.element.format(syntax.first)
        fields: dict[str, Argument] = {"pullback": Name(pullback), "seed": self.seed(step)}
        yield Call(syntax.pull + first, fields, (step.name,), unpack=not first)

    def zero_grad(self, step: kinds.ZeroGrad) -> Iterable[Statement]:
        """Forget the gradient of a leaf."""
        self.gradients.pop(step.name, None)
        return ()

    def read(self, step: Read) -> Iterator[Statement]:
        """Yield the statement that shows what a step reads."""
        yield self.value(step.name) if step.what == "value" else self.gradient(step.name)

    def backward(self, step: Backward) -> Iterator[Statement]:
        """Yield the statements of a backward, and of the sums of gradients."""
        leaves = tuple(relevant_leaves(self.scenario, step.output))
        read = [leaf for leaf in leaves if self.bound is None or leaf in self.bound]
        targets = {leaf: self.fresh(f"{'more' if leaf in self.gradients else 'gradient'}_of_{leaf}") for leaf in read}
        yield from self.pulled(step, leaves, targets)
        for leaf, target in targets.items():
            total = self.gradients.setdefault(leaf, target)
            if total != target:
                yield self.total(leaf, target)

    def pulled(self, step: Backward, leaves: tuple[str, ...], targets: Mapping[str, str]) -> Iterator[Statement]:
        """Yield the statements that bind the gradients of leaves to variables."""
        key = step.output, step.forward
        if key not in self.pullbacks:
            self.pullbacks[key], before = self.pullback(step, leaves)
            yield from before
        fields: dict[str, Argument] = {"pullback": Name(self.pullbacks[key]), "seed": self.seed(step)}
        syntax = self.adapter.syntax
        yield Call(syntax.pull, fields, tuple(targets.get(leaf, syntax.unread) for leaf in leaves), unpack=True)

    def total(self, leaf: str, more: str) -> Call:
        """Return the sum of a leaf's gradients so far and a further one.

        If tensors of any engine of the language can be added, they are, unless the adapter spells ``add`` only in other
        ways. Otherwise the engine's own ``add`` is called, and the sum bound to a new variable, since some languages
        cannot bind a variable twice.
        """
        total, plus = self.gradients[leaf], self.adapter.syntax.plus
        if not plus:
            self.gradients[leaf] = self.fresh(f"total_of_{leaf}")
        added = plus if plus in self.adapter.aliases.get("add", ()) else self.spelled("add", plus or "{x} + {y}")
        return call(added, self.gradients[leaf], x=Name(total), y=Name(more))

    def gradient(self, name: str) -> Show:
        """Return the statement that shows the gradient of a leaf."""
        if name not in self.gradients:
            return Show(f"gradient of {name}", Call("{nothing}", {"nothing": Value(None)}))
        value = self.value(self.gradients[name])
        return Show(f"gradient of {name}", value.call, dtype=value.dtype, optional=True)


def seed_of(scenario: Scenario, step: Backward | Grad) -> Constant:
    """Return the seed of a step, ones if it has none."""
    if step.seed is not None:
        return step.seed
    ones = np.ones(evaluate(scenario, Float64())[step.output].shape)
    return Constant.of(ones, promoted(floating_dtypes(scenario)[step.output]))


def nestable_results(scenario: Scenario) -> frozenset[str]:
    """Return the results that exactly one later result uses, and whose names are deleted right after that.

    Between a result and its use there are only leaves and results.
    """
    if not any(isinstance(step, kinds.DeleteName) for step in scenario.steps):
        return frozenset()
    names: set[str] = set()
    users: dict[str, list[Step]] = {}
    last: Step | None = None
    for step in scenario.steps:
        if isinstance(step, kinds.DeleteName):
            if users.get(step.name) == [last]:
                names.add(step.name)
            continue
        if not isinstance(step, Leaf | Apply):
            users.clear()
        for name in step.uses:
            users.get(name, []).append(step)
        if isinstance(step, Apply):
            users[step.name] = []
        last = step
    return frozenset(names)


def needed_results(scenario: Scenario, output: str) -> tuple[Result, ...]:
    """Return the applications, calls and recorded gradients that ``output`` depends on, in order."""
    return needed([step for step in scenario.steps if isinstance(step, Result)], {output})


def relevant_leaves(scenario: Scenario, output: str) -> list[str]:
    """Return the leaves that require grad and that ``output`` depends on, in order."""
    return [leaf.name for leaf in read_leaves(scenario, output) if leaf.requires_grad]


def read_leaves(scenario: Scenario, output: str) -> list[Leaf]:
    """Return the leaves that ``output`` depends on, in order."""
    used = {output}.union(*(step.uses for step in needed_results(scenario, output)))
    return [leaf for leaf in scenario.leaves if leaf.name in used]
