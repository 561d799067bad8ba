"""Programs for readers: as they were run, and the statements that show one result as users of a library write them.

Steps that the result does not need are left out. The gradients of a functional engine are written by the display
templates of its adapter, if it has any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from refgrad.lifecycle import Fails, predict
from refgrad.native import calls, statements
from refgrad.native.adapter import AnyAdapter, TapeAdapter
from refgrad.native.calls import call
from refgrad.native.languages import Language
from refgrad.native.program import (
    FunctionalWriter,
    Result,
    Spell,
    TapeWriter,
    needed_results,
    read_leaves,
    relevant_leaves,
)
from refgrad.native.statements import Argument, Call, LocalFunction, Name, Names, Show, Statement, Value
from refgrad.scenario import (
    Apply,
    Backward,
    Constant,
    FunctionCall,
    Grad,
    Jvp,
    Leaf,
    Read,
    Scenario,
    Step,
    ZeroGrad,
    kinds,
)

HALVES = frozenset({"float16", "bfloat16"})
"""Dtypes in which engines may round differently if the seed is omitted."""


def displayed(  # noqa: PLR0913 (each is a part of what is shown)
    scenario: Scenario,
    adapter: AnyAdapter,
    spell: Spell,
    step: int = 0,
    reads: Sequence[Read] = (),
    *,
    watch_seeds: bool = False,
) -> tuple[Statement, ...]:
    """Return the statements of a scenario up to a step, which is counted from 1, or of all steps.

    They end with one :class:`Show` for each of ``reads``, or for the last step if it is a read. With ``watch_seeds``
    they end with the seeds after the last backward of a tape engine.
    """
    steps = scenario.steps[:step] if step else scenario.steps
    last = steps[-1]
    entered = sum(isinstance(each, kinds.EnterMode) - isinstance(each, kinds.LeaveMode) for each in steps)
    part = Scenario((*steps, *(kinds.LeaveMode() for _ in range(entered))))
    reads = tuple(reads) or ((last,) if isinstance(last, Read) else ())

    if isinstance(adapter, TapeAdapter):
        tape = TapeWriter(part, adapter, lambda each, _: spell(each, scenario), nests=True, watch_seeds=watch_seeds)
        return tuple(_on_tape(tape, len(steps), reads))
    # all gradients are bound where a target cannot be left out
    read = frozenset(each.name for each in reads if each.what == "grad") if adapter.syntax.unread else None
    display = _Display(part, adapter, lambda each, _: spell(each, scenario), nests=True, bound=read)
    return tuple(display.program(reads))


def _on_tape(writer: TapeWriter, end: int, reads: Sequence[Read]) -> Iterator[Statement]:
    """Yield the statements of all steps but reads. Errors that must be raised on the way are caught.

    What is shown stands after ``end`` steps, before regions are left that the last of these is in.
    """
    steps = writer.scenario.steps
    failing = failing_steps(writer.scenario, writer.adapter.policy)
    for at, step in enumerate(steps[:end]):
        if isinstance(step, Read) or _is_only_pushed(step, writer.scenario, reads):
            continue
        group = tuple(writer.step(step))
        if at < end - 1:
            group = tuple(each for each in group if not isinstance(each, Show))
        yield from (statements.Attempt(group),) if at in failing else group
    yield from chain.from_iterable(map(writer.read, reads))
    for step in steps[end:]:
        yield from writer.step(step)


def _is_only_pushed(step: Step, scenario: Scenario, reads: Sequence[Read]) -> bool:
    """Return True if a result is only the output of functions along which tangents are pushed."""
    if not isinstance(step, Apply) or any(each.name == step.name for each in reads):
        return False
    users = [each for each in scenario.steps if step.name in each.uses and not isinstance(each, Read)]
    return bool(users) and all(isinstance(each, Jvp) for each in users)


@dataclass(slots=True)
class _Display(FunctionalWriter):
    """Writer of the statements that a result needs, with gradients by the display templates of the adapter."""

    functions: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)
    hoisted: list[LocalFunction] = field(default_factory=list)
    outer: frozenset[str] = frozenset()
    """Parameters of the functions that are being written."""
    repeated: frozenset[str] = frozenset()
    """Outputs from which several backwards start: their pullback is called several times."""
    tapes: dict[str, str] = field(default_factory=dict)
    shows: bool = False
    carrying: str = ""
    """Leaf that carries its derivative forward, empty if more is shown than one first derivative."""
    direct: dict[str, Call] = field(default_factory=dict)
    """Gradients that are shown where they are computed, and bound to no variable."""

    def program(self, reads: Sequence[Read]) -> Iterator[Statement]:
        """Yield the statements of the steps that the shown results need, or the last step if nothing is shown."""
        kept, self.shows = self.kept(reads), bool(reads)
        outputs = [step.output for step in kept if isinstance(step, Backward)]
        self.repeated = frozenset(output for output in outputs if outputs.count(output) > 1)
        if self.adapter.display_leaf is not None and len(outputs) == 1 and len(reads) <= 1 and self.first_order:
            leaves = [each.name for each in reads] or relevant_leaves(self.scenario, outputs[0])
            self.carrying = leaves[0]
        for step in kept:
            group = list(self.step(step))
            yield from (*self.hoisted, *group)
            self.hoisted.clear()
        yield from chain.from_iterable(map(self.read, reads))

    def kept(self, reads: Sequence[Read]) -> list[Step]:
        """Return the steps that are needed, in order."""
        steps = self.scenario.steps
        backwards = self.backwards(reads)
        last = steps[-1]
        targets = [each.name for each in reads if each.what == "value"]
        if not reads and isinstance(last, Leaf | Result | Jvp):
            targets.append(last.name)
        names = set[str]().union(*(self.free(backward.output) for backward in backwards), *map(self.computed, targets))
        read = {each.name for each in reads if each.what == "grad"}
        return [
            step
            for step in steps
            if (isinstance(step, Leaf | Result | Jvp) and step.name in names)
            or (isinstance(step, Backward) and step in backwards)
            or (isinstance(step, ZeroGrad) and step.name in read)
        ]

    def leaf(self, step: Leaf) -> Iterator[Statement]:
        constant = self.adapter.display_constant if self.first_order else None
        template = self.adapter.display_leaf if step.name == self.carrying else constant
        if template is None:
            yield from FunctionalWriter.leaf(self, step)
        else:
            scalar = Value(step.value.to_numpy().item())
            yield call(template, step.name, array=step.value, scalar=scalar, shape=Value(step.value.shape))

    @property
    def first_order(self) -> bool:
        """True if the scenario differentiates no gradient, and no tangent is pushed."""
        return not any(isinstance(step, Grad | Jvp) for step in self.scenario.steps)

    def gradient(self, name: str) -> Show:
        if name in self.direct:
            return Show(f"gradient of {name}", self.direct[name])
        return FunctionalWriter.gradient(self, name)

    def backwards(self, reads: Sequence[Read]) -> list[Backward]:
        """Return the backwards that reach the leaves that are read, with all others from the same outputs."""
        backwards = [step for step in self.scenario.steps if isinstance(step, Backward)]
        last = self.scenario.steps[-1]
        read = {each.name for each in reads if each.what == "grad"}
        outputs = {each.output for each in backwards if read.intersection(relevant_leaves(self.scenario, each.output))}
        if not reads and isinstance(last, Backward):
            outputs.add(last.output)
        return [backward for backward in backwards if backward.output in outputs]

    def computed(self, name: str) -> set[str]:
        """Return the names that the computation of a result binds outside of functions."""
        step = self.scenario.definitions[name]
        match step:
            case Apply(arguments=arguments) | FunctionCall(arguments=arguments):
                return {name}.union(*map(self.computed, arguments))
            case Grad(output=output) | Jvp(output=output):
                return {name} | self.free(output)
        return {name}

    def results(self, output: str) -> list[Result]:
        """Return the applications, calls and gradients that compute an output.

        Those within a gradient are left out, but not where gradients are nested: MLX 0.32.4 returns a wrong gradient
        only if an inner gradient is computed again.
        """
        steps = needed_results(self.scenario, output)
        names = self.computed(output)
        nested = sum(isinstance(step, Grad) for step in steps) > 1
        return [step for step in steps if nested or step.name in names]

    def function(self, name: str, parameters: tuple[str, ...], output: str) -> LocalFunction:
        """Return the computation of an output as a function of some leaves."""
        body = tuple(statement for step in self.results(output) for statement in self.within(step))
        return LocalFunction(name, parameters, body, output)

    def free(self, output: str) -> set[str]:
        """Return the leaves that a function with this output reads."""
        return {leaf.name for leaf in read_leaves(self.scenario, output)}

    def is_one(self, step: Backward | Grad) -> bool:
        """Return True if the seed is the number 1, which a gradient need not be given."""
        seed = self.seed(step).fields.get("array")
        if not isinstance(seed, Constant) or seed.dtype in HALVES or seed.shape:
            return False
        return bool(seed.to_numpy().item() == 1)

    @property
    def inline(self) -> bool:
        """True if the computation is printed before a gradient, and not as a function."""
        if self.adapter.display_leaf is not None and not self.carrying:
            return False
        templates = (self.adapter.display_grad, self.adapter.display_pull)
        return any("{output}" in (template or "") for template in templates)

    def differentiated(self, output: str, leaves: tuple[str, ...]) -> tuple[str, list[Statement]]:
        """Return the variable of a function, and its definition if that cannot stand at the program's beginning."""
        key = output, leaves
        if key in self.functions:
            return self.functions[key], []
        name = self.fresh(f"program_{output}")
        before, self.outer = self.outer, self.outer | set(leaves)
        function = self.function(name, leaves, output)
        self.outer = before
        if (self.free(output) - set(leaves)) & before:
            return name, [function]
        self.functions[key] = name
        self.hoisted.append(function)
        return name, []

    def pullback(self, step: Backward | Grad, leaves: tuple[str, ...]) -> tuple[str, list[Statement]]:
        function, definition = self.differentiated(step.output, leaves)
        pullback = self.fresh(f"pullback_of_{step.output}")
        unread = self.adapter.syntax.unread or self.fresh(f"output_{step.output}")
        vjp = calls.vjp(self.adapter, function, Names(leaves), (unread, pullback), forward=step.forward)
        return pullback, [*definition, vjp]

    def grad(self, step: Grad) -> Iterator[Statement]:
        if self.template(step) is None:
            yield from FunctionalWriter.grad(self, step)
        else:
            yield from self.gradients_of(step, (step.leaf,), {step.leaf: step.name})

    def pulled(self, step: Backward, leaves: tuple[str, ...], targets: Mapping[str, str]) -> Iterator[Statement]:
        if self.template(step) is None:
            yield from FunctionalWriter.pulled(self, step, leaves, targets)
        else:
            yield from self.gradients_of(step, leaves, targets)

    def template(self, step: Backward | Grad) -> str | None:
        """Return the display template of a gradient, None where a pullback is written."""
        if step.forward or (not self.inline and step.output in self.repeated):
            return None
        if self.adapter.display_leaf is not None and not self.carrying:
            return None
        one = self.adapter.display_grad if self.is_one(step) else None
        return one or self.adapter.display_pull

    def gradients_of(
        self, step: Backward | Grad, leaves: tuple[str, ...], targets: Mapping[str, str]
    ) -> Iterator[Statement]:
        """Yield the statements of a gradient by its display template."""
        if self.inline:
            yield from self.inlined(step, targets or dict.fromkeys(leaves, ""))
            return
        template = self.template(step)
        assert template is not None
        function, definition = self.differentiated(step.output, leaves)
        yield from definition
        one, placed = self.is_one(step), "{at}" in template
        selected = [leaf for leaf in leaves if leaf in targets] or leaves if one and placed else leaves
        positions = tuple(leaves.index(leaf) for leaf in selected)
        fields: dict[str, Argument] = {"function": Name(function), "primals": Names(leaves), "seed": self.seed(step)}
        fields["at"] = Value(positions if len(positions) > 1 else positions[0])
        names = tuple(targets.get(leaf, "_") for leaf in selected) if targets else ()
        gradient = call(template, **fields)
        if "{seed}" not in template and not one:
            pullback = self.fresh(f"pullback_of_{step.output}")
            yield replace(gradient, targets=(pullback, "_"), unpack=True)
            gradient = Call("{pullback}({seed})", {"pullback": Name(pullback), "seed": self.seed(step)})
        yield replace(gradient, targets=names, unpack=bool(names) and (len(positions) > 1 or not placed))

    def inlined(self, step: Backward | Grad, targets: Mapping[str, str]) -> Iterator[Statement]:
        """Yield the computation of an output, and gradients of it."""
        tape = self.tapes.get(step.output, "")
        if not tape:
            tape = self.fresh("tape")
            yield from self.computation(step, targets, tape)
        if isinstance(step, Backward):
            self.tapes[step.output] = tape
        template = self.template(step)
        if self.carrying:
            targets = {self.carrying: ""}
        for leaf, target in targets.items():
            fields: dict[str, Argument] = {"output": Name(step.output), "leaf": Name(leaf), "tape": Name(tape)}
            fields["seed"] = self.seed(step)
            gradient = replace(call(template, **fields), targets=(target,) if target else ())
            if self.carrying and self.shows:
                self.direct[leaf] = gradient
            else:
                yield gradient

    def computation(self, step: Backward | Grad, leaves: Collection[str], tape: str) -> Iterator[Statement]:
        """Yield the statements that compute an output, in the region that records them if there is one."""
        record, watch = self.adapter.display_record, self.adapter.display_watch
        watched = [] if watch is None else [call(watch, leaf=Name(leaf), tape=Name(tape)) for leaf in leaves]
        named = any("tape" in each.fields for each in watched)
        yield from () if named else watched
        if record is not None:
            yield statements.Enter(call(record, tape if named else ()))
        yield from watched if named else ()
        for each in self.results(step.output):
            yield from self.within(each)
        if record is not None:
            yield statements.Leave()


def failing_steps(scenario: Scenario, policy: object) -> frozenset[int]:
    """Return the indices of steps that must fail and are not the last: the program continues after them."""
    last = max((at for at, step in enumerate(scenario.steps) if not isinstance(step, kinds.LeaveMode)), default=0)
    predictions = predict(scenario, policy)  # type: ignore[arg-type]
    return frozenset(at for at, prediction in enumerate(predictions) if isinstance(prediction, Fails) and at < last)


def program_lines(program: Iterable[Statement], language: Language) -> list[str]:
    """Return the lines of statements in a language, with the statements of a region nested in it."""
    return _block(iter(program), language)[0]


def _block(program: Iterator[Statement], language: Language) -> tuple[list[str], bool]:
    """Return the lines up to the end of a region or a program, and True if an error ends the region."""
    lines: list[str] = []
    for statement in program:
        match statement:
            case statements.Enter(region=region):
                inner, by_error = _block(program, language)
                lines += language.region(region, inner, by_error=by_error)
            case statements.Leave(by_error=by_error):
                return lines, by_error
            case statements.Attempt(body=body):
                lines += language.caught(program_lines(body, language))
            case _:
                lines += language.lines(statement)
    return lines, False
