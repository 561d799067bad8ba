"""Programs: scenarios as statements of an engine's language, made from the adapter's templates, one group per step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from refgrad.interpreter import Float64, evaluate, native
from refgrad.native import calls, statements
from refgrad.native.adapter import AnyAdapter, FunctionalAdapter, TapeAdapter
from refgrad.native.calls import call
from refgrad.native.statements import Argument, Call, Name, Names, Show, Statement, Value
from refgrad.scenario import Apply, Backward, Constant, Grad, Jvp, Leaf, Read, Scenario, Step, kinds
from refgrad.scenario.rewrite import floating_dtypes, fresh_name, needed, promoted

Group: TypeAlias = tuple[Statement, ...]
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
    deleted: list[statements.Delete] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.taken |= self.scenario.definitions.keys()
        self.nestable = nestable_results(self.scenario) if self.nests and self.adapter.syntax.nests else frozenset()

    def fresh(self, stem: str) -> str:
        """Return a variable that the program does not have yet."""
        return fresh_name(stem, self.taken)

    def definition(self, step: Leaf | Apply) -> Iterator[Statement]:
        """Yield the statements that define a leaf or a result. A result that can be nested waits for its only use."""
        if isinstance(step, Leaf):
            yield calls.tensor_of(self.adapter, step.value, step.name, requires_grad=step.requires_grad)
            return
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

    def delete(self, name: str) -> Iterator[statements.Delete]:
        """Yield the deletions of variables, once no result waits to be nested."""
        if name not in self.nestable:
            self.deleted.append(statements.Delete(name))
        if not self.waiting:
            yield from self.deleted
            self.deleted.clear()

    def within(self, step: Apply | Grad) -> Iterator[Statement]:
        """Yield the statements of a result within a function. Forward mode has no recorded gradients in it."""
        if isinstance(step, Apply):
            yield from self.definition(step)

    def function(self, name: str, parameters: tuple[str, ...], output: str) -> statements.Function:
        """Return the forward part up to an output as a function of some leaves."""
        results = needed_results(self.scenario, output)
        return statements.Function(name, parameters, tuple(s for step in results for s in self.within(step)), output)

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

    def seed(self, seed: Constant | None) -> tuple[list[Statement], Argument]:
        """Return the statements that make a seed in advance if seeds are watched, and the argument for the seed."""
        if seed is None:
            return [], Value(None)
        if not self.watch_seeds:
            return [], calls.seed(self.adapter, seed, seed.dtype)
        self.seeds.append(self.fresh(f"seed_{len(self.seeds) + 1}"))
        return [calls.seed(self.adapter, seed, seed.dtype, self.seeds[-1])], Name(self.seeds[-1])

    def step(self, step: Step) -> Iterator[Statement]:  # noqa: C901, PLR0912 (one case for each kind of step)
        """Yield the statements of one step."""
        tape = self.adapter
        match step:
            case Read():
                yield self.show(step)
            case Leaf() | Apply():
                yield from self.definition(step)
            case Jvp():
                yield from self.jvp(step)
            case Grad(name=name, output=output, leaf=leaf):
                before, seed = self.seed(step.seed)
                yield from before
                yield call(tape.grad, name, output=Name(output), leaf=Name(leaf), seed=seed)
            case Backward(output=output):
                yield from self.backward(step, output)
            case kinds.ZeroGrad(name=name):
                yield calls.zero_grad(tape, name, to_zeros=step.to_zeros)
            case kinds.Detach(name=name, source=source):
                yield call(tape.detach, name, x=Name(source))
            case kinds.EnterMode(mode=mode):
                yield statements.Enter(call(tape.no_grad if mode == "no_grad" else tape.enable_grad))
            case kinds.LeaveMode(by_error=by_error):
                yield statements.Leave(by_error)
            case kinds.RequireGrad(name=name) | kinds.StopRequiringGrad(name=name):
                required = Value(isinstance(step, kinds.RequireGrad))
                yield call(tape.set_requires_grad, x=Name(name), requires_grad=required)
            case kinds.DeleteName(name=name):
                yield from self.delete(name)
            case kinds.Write():
                yield self.write(step)
            case kinds.Hook():
                yield from self.hook(step)
            case kinds.Unhook(name=name):
                yield call(tape.unhook, handle=Name(name))
            case kinds.RetainGrad(name=name):
                yield call(tape.retain_grad, x=Name(name))
            case _:
                raise NotImplementedError(type(step).__name__)

    def backward(self, step: Backward, output: str) -> Iterator[Statement]:
        """Yield the statements of a backward."""
        before, seed = self.seed(step.seed)
        yield from before
        yield calls.backward(self.adapter, output, seed, retain_graph=step.retain_graph)
        if self.seeds and self.adapter.syntax.new_list:
            template = "{x}" if self.adapter.seed == "{array}" else self.adapter.value
            names = tuple(f"look_{number}" for number in range(len(self.seeds)))
            text = self.adapter.syntax.listed([template.replace("{x}", f"{{{name}}}") for name in names])
            fields = {name: Name(seed) for name, seed in zip(names, self.seeds, strict=True)}
            yield Show("the seeds", call(text, **fields), "arrays")

    def write(self, step: kinds.Write) -> Call:
        """Return the call that overwrites a tensor."""
        templates = self.adapter.in_place if step.index is None else self.adapter.in_place_at
        return call(templates[step.action], x=Name(step.name), y=Name(step.operand), index=Value(native(step.index)))

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

    def show(self, step: Read) -> Show:
        """Return the statement that shows what a step reads."""
        name, what = step.name, step.what
        if what == "value":
            return self.value(name)
        if what == "grad":
            dtype = calls.optional(self.adapter.gradient_dtype, leaf=Name(name))
            return Show(f"gradient of {name}", calls.gradient(self.adapter, name), dtype=dtype)
        if what == "hook":
            return Show(f"what {name} saw", Call("{seen}", {"seen": Name(self.seen[name])}), "arrays")
        return Show(f"{what} of {name}", call(self.adapter.flags[what], x=Name(name)), "flag")


@dataclass(slots=True)
class FunctionalWriter(Writer):
    """Writer for functional engines. Gradients are bound to variables, to which further backward calls are added."""

    adapter: FunctionalAdapter
    pullbacks: dict[str, str] = field(default_factory=dict)
    gradients: dict[str, str] = field(default_factory=dict)
    read: frozenset[str] | None = None
    """Leaves whose gradients are bound to variables, all if None."""

    def within(self, step: Apply | Grad) -> Iterator[Statement]:
        """Yield the statements of a result within a function, gradients included."""
        yield from self.definition(step) if isinstance(step, Apply) else self.recorded(step)

    def pullback(self, output: str, leaves: tuple[str, ...]) -> tuple[str, list[Statement]]:
        """Return the variable of a pullback, and the statements that make it."""
        function, pullback = self.fresh(f"program_{output}"), self.fresh(f"pullback_of_{output}")
        targets = (self.fresh(f"output_{output}"), pullback)
        vjp = calls.vjp(self.adapter, function, Names(leaves), targets)
        return pullback, [self.function(function, leaves, output), vjp]

    def seed(self, step: Backward | Grad) -> Call:
        """Return the call that makes a seed."""
        seed = seed_of(self.scenario, step)
        return calls.seed(self.adapter, seed, seed.dtype)

    def recorded(self, step: Grad) -> Iterator[Statement]:
        """Yield the statements of a gradient that can itself be differentiated."""
        pullback, before = self.pullback(step.output, (step.leaf,))
        yield from before
        syntax = self.adapter.syntax
        first = syntax.element.format(syntax.first)
        fields: dict[str, Argument] = {"pullback": Name(pullback), "seed": self.seed(step)}
        yield Call(syntax.pull + first, fields, (step.name,), unpack=not first)

    def step(self, step: Step) -> Iterator[Statement]:
        """Yield the statements of one step. Steps that a functional engine does not take have none."""
        match step:
            case Leaf() | Apply():
                yield from self.definition(step)
            case Jvp():
                yield from self.jvp(step)
            case Grad():
                yield from self.recorded(step)
            case Backward():
                yield from self.backward(step)
            case kinds.ZeroGrad(name=name):
                self.gradients.pop(name, None)
            case Read(what="value", name=name):
                yield self.value(name)
            case Read(what="grad", name=name):
                yield self.gradient(name)

    def backward(self, step: Backward) -> Iterator[Statement]:
        """Yield the statements of a backward, and of the sums of gradients."""
        leaves = tuple(relevant_leaves(self.scenario, step.output))
        read = [leaf for leaf in leaves if self.read is None or leaf in self.read]
        targets = {leaf: self.fresh(f"{'more' if leaf in self.gradients else 'gradient'}_of_{leaf}") for leaf in read}
        yield from self.pulled(step, leaves, targets)
        for leaf, target in targets.items():
            total = self.gradients.setdefault(leaf, target)
            if total != target:
                yield self.total(leaf, target)

    def pulled(self, step: Backward, leaves: tuple[str, ...], targets: Mapping[str, str]) -> Iterator[Statement]:
        """Yield the statements that bind the gradients of leaves to variables."""
        if step.output not in self.pullbacks:
            self.pullbacks[step.output], before = self.pullback(step.output, leaves)
            yield from before
        fields: dict[str, Argument] = {"pullback": Name(self.pullbacks[step.output]), "seed": self.seed(step)}
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


def needed_results(scenario: Scenario, output: str) -> tuple[Apply | Grad, ...]:
    """Return the applications and recorded gradients that ``output`` depends on, in order."""
    return needed([step for step in scenario.steps if isinstance(step, Apply | Grad)], {output})


def relevant_leaves(scenario: Scenario, output: str) -> list[str]:
    """Return the leaves that require grad and that ``output`` depends on, in order."""
    return [leaf.name for leaf in read_leaves(scenario, output) if leaf.requires_grad]


def read_leaves(scenario: Scenario, output: str) -> list[Leaf]:
    """Return the leaves that ``output`` depends on, in order."""
    used = {output}.union(*(step.uses for step in needed_results(scenario, output)))
    return [leaf for leaf in scenario.leaves if leaf.name in used]
