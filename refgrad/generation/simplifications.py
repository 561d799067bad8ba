"""Simplifications: scenarios that are slightly simpler than a given one, one row for each kind, boldest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, Final, TypeAlias

import numpy as np

from refgrad.generation.attributes.rules import simpler_attributes, with_lengths
from refgrad.generation.profile import COUNTS
from refgrad.generation.repair import Evaluated
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Backward, Constant, Grad, Jvp, Leaf, Read, ScenarioError, Step, rewrite
from refgrad.scenario.codecs import Scope, Tangents
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.functions import arguments_of_functions
from refgrad.scenario.kinds import OF, Detach, EnterMode, FunctionCall, Hook, LeaveMode, Write, ZeroGrad
from refgrad.scenario.rewrite import mapped, needed, spliced, substituted

Steps: TypeAlias = Sequence[Step]
Simplification: TypeAlias = Callable[[Evaluated], Iterator[Steps]]
Index: TypeAlias = tuple[slice | int, ...]


def single_application(current: Evaluated) -> Iterator[Steps]:
    """Yield each operator in isolation, on leaves that hold the values of its operands."""
    applications = current.scenario.applications
    for step in applications if len(applications) > 1 else ():
        leaves = [_as_leaf(current, name) for name in dict.fromkeys(step.arguments)]
        if not any(leaf.requires_grad for leaf in leaves):
            leaves = [replace(leaf, requires_grad=leaf.value.dtype != "bool") for leaf in leaves]
        seed = np.arange(1.0, current.values[step.name].size + 1).reshape(current.values[step.name].shape)
        reads = [Read("grad", leaf.name) for leaf in leaves if leaf.requires_grad]
        backward = Backward(step.name, Constant.of(seed, _dtype(current, step.name)))
        yield [*leaves, step, backward, *reads, Read("value", step.name)]


def fewer_backwards(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with a single backward, with one less, or with one that does not retain its graph.

    The last backward may be removed if there are directional derivatives, which need none.
    """
    steps = current.scenario.steps
    backwards = current.scenario.backwards
    if len(backwards) > 1:
        for kept, _ in backwards:
            yield [step for at, step in enumerate(steps) if at == kept or not isinstance(step, Backward)]
    if len(backwards) > 1 or current.scenario.jvps:
        for dropped, _ in backwards:
            yield spliced(steps, dropped)
    for at, backward in backwards:
        if backward.retain_graph:
            yield spliced(steps, at, replace(backward, retain_graph=False))


def without_unused(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario without all that nothing needs, or without one leaf or result that nothing uses."""
    steps = current.scenario.steps
    used = {name for step in steps for name in step.uses}
    yield needed(steps, actions=True)
    yield from (
        spliced(steps, at) for at, step in reversed(list(enumerate(steps))) if step.defines and step.defines not in used
    )


def other_outputs(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with a backward, gradient or tangent from another result, and reads of that instead."""
    for at, start in enumerate(current.scenario.steps):
        if not isinstance(start, Backward | Grad | Jvp):
            continue
        for step in current.scenario.applications:
            if step.name in current.recorded and step.name != start.output:
                steps = spliced(current.scenario.steps, at, replace(start, output=step.name))
                yield mapped(steps, Read, partial(Read.renamed, names={start.output: step.name}))


def cut_graph(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with a leaf of its value instead of a result, last results first: they cut off the most."""
    for at, step in reversed(list(enumerate(current.scenario.steps))):
        if isinstance(step, Apply):
            leaf = _as_leaf(current, step.name)
            reads = [Read("grad", step.name)] if leaf.requires_grad else []
            yield [*_without_vain_reads(spliced(current.scenario.steps, at, leaf)), *reads]


def rewired(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with an operand of an application in place of its result."""
    for step in current.scenario.applications:
        for operand in dict.fromkeys(step.arguments):
            yield substituted(current.scenario.steps, step, operand)


def merged_leaves(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with one leaf in place of another of the same shape and dtype.

    It requires grad if either did.
    """
    leaves = current.scenario.leaves
    for number, leaf in enumerate(leaves):
        for other in leaves[:number]:
            if (leaf.value.shape, leaf.value.dtype) == (other.value.shape, other.value.dtype):
                kept = replace(other, requires_grad=leaf.requires_grad or other.requires_grad)
                reads = {s for s in current.scenario.steps if isinstance(s, Read | ZeroGrad) and s.name == leaf.name}
                steps = [kept if s is other else s for s in current.scenario.steps if s not in reads]
                yield substituted(steps, leaf, other.name)


def distinct_operands(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with a new leaf as the second of two operands of an application that are the same leaf."""
    steps = current.scenario.steps
    names = {name for step in steps for name in (step.defines, *step.uses)}
    for at, step in ((at, step) for at, step in enumerate(steps) if isinstance(step, Apply)):
        for position, operand in enumerate(step.arguments):
            leaf = current.scenario.definitions[operand]
            if isinstance(leaf, Leaf) and operand in step.arguments[:position]:
                own = next(name for name in (f"{operand}{number}" for number in count(1)) if name not in names)
                arguments = (*step.arguments[:position], own, *step.arguments[position + 1 :])
                yield [*steps[:at], replace(leaf, name=own), replace(step, arguments=arguments), *steps[at + 1 :]]


def fewer_reads(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with a single read or zeroing, or with one less."""
    steps = current.scenario.steps
    observations = [at for at, step in enumerate(steps) if isinstance(step, Read | ZeroGrad)]
    if len(observations) > 2:  # noqa: PLR2004 (of two, keeping one is removing the other)
        for kept in observations:
            yield [step for at, step in enumerate(steps) if at == kept or at not in observations]
    for dropped in observations:
        yield spliced(steps, dropped)


def shorter_axes(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with a part of every axis of some length, in leaves and attributes, or of one leaf's axis."""
    lengths = sorted({length for leaf in current.scenario.leaves for length in leaf.value.shape}, reverse=True)
    for old in lengths:
        for part in _parts(old):
            yield from _both_ways(current, partial(_of_length, old, part), {old: part.stop - part.start})
    for leaf in current.scenario.leaves:
        for axis, old in enumerate(leaf.value.shape):
            for part in _parts(old):
                yield from _both_ways(current, _only(leaf, *(slice(None),) * axis, part), {})


def fewer_axes(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with the first entry of an axis instead of that axis, in every leaf or in one."""
    rank = max((len(leaf.value.shape) for leaf in current.scenario.leaves), default=0)
    for dropped in range(rank, 0, -1):
        yield from _both_ways(current, partial(_of_leading_axes, rank - dropped), {})
    for leaf in current.scenario.leaves:
        for axis, length in enumerate(leaf.value.shape):
            if length:
                yield from _both_ways(current, _only(leaf, *(slice(None),) * axis, 0), {})


def plainer_leaves(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with a leaf of simpler numbers, or with one that does not require grad."""
    for at, step in enumerate(current.scenario.steps):
        if isinstance(step, Leaf):
            if step.requires_grad and Read("grad", step.name) not in current.scenario.steps:
                yield spliced(current.scenario.steps, at, replace(step, requires_grad=False))
            for value in simpler_constants(step.value):
                yield spliced(current.scenario.steps, at, replace(step, value=value))


def plainer_dtypes(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with all leaves in float64, or one of them: a dtype of fewer bits stays only if it matters."""
    leaves = current.scenario.leaves
    narrow = [leaf.name for leaf in leaves if leaf.value.dtype in FORMATS and leaf.value.dtype != "float64"]
    for names in [narrow, *([name] for name in narrow if len(narrow) > 1)] if narrow else []:
        yield rewrite.retyped(current.scenario, names, "float64").steps


def shorter_lives(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario without some consecutive steps, many at first, and without steps that are then invalid.

    Only scenarios in which tensors change are shortened in this way.
    """
    steps = current.scenario.steps
    length = len(steps) // 2 if any(step.stateful for step in steps) else 0
    while length:
        for start in range(len(steps) - length, -1, -length):
            yield consistent([*steps[:start], *steps[start + length :]])
        length = min(length // 2, COUNTS["steps_removed_at_once"])


def without_one_change(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with one change less.

    The change is a region, the error that leaves one, the detaching of a tensor, the index of a write, or the factor of
    a hook.
    """
    steps = current.scenario.steps
    waiting: list[int] = []
    for at, step in enumerate(steps):
        match step:
            case EnterMode():
                waiting.append(at)
            case LeaveMode(by_error):
                both = {waiting.pop(), at}
                yield [other for index, other in enumerate(steps) if index not in both]
                if by_error:
                    yield spliced(steps, at, LeaveMode())
            case Detach(_, source):
                yield substituted(steps, step, source)
            case FunctionCall(ways=(outer, *rest)) if rest:
                yield from (spliced(steps, at, replace(step, way=way)) for way in (OF.join(rest), outer))
            case Write(index=index) if index is not None:
                yield spliced(steps, at, replace(step, index=None))
            case Hook(factor=factor) if factor is not None:
                yield spliced(steps, at, replace(step, factor=None))


def consistent(steps: Steps) -> list[Step]:
    """Leave out the steps that use undefined names, and regions that are not left or not entered."""
    kept: list[Step] = []
    entered: list[int] = []
    scope = Scope(operator_table(), arguments_of_functions())
    for step in steps:
        try:
            step.check(scope)
        except ScenarioError:
            continue
        if isinstance(step, EnterMode):
            entered.append(len(kept))
        elif isinstance(step, LeaveMode):
            entered.pop()
        kept.append(step)
    return [step for at, step in enumerate(kept) if at not in entered]


def _plainer(kinds: Any, field: str, simpler: Callable[[Any], Iterable[Any]]) -> Simplification:
    """Return the simplification that gives a field of one step of these kinds each of the simpler values."""

    def plainer(current: Evaluated) -> Iterator[Steps]:
        steps: Sequence[Any] = current.scenario.steps
        for at, step in enumerate(steps):
            for value in simpler(step) if isinstance(step, kinds) else ():
                yield spliced(steps, at, replace(step, **{field: value}))

    return plainer


def _fewer_arguments(step: Apply) -> list[tuple[str, ...]]:
    """Return the arguments without one of them. A candidate whose operator needs it is rejected later."""
    return [spliced(step.arguments, at) for at in range(len(step.arguments)) if len(step.arguments) > 1]


def _simpler_seeds(start: Backward | Grad) -> Iterator[Constant | None]:
    """Yield no seed, then seeds of simpler numbers."""
    if start.seed is not None:
        yield None
        yield from simpler_constants(start.seed)


def _simpler_tangents(step: Jvp) -> Iterator[Tangents]:
    """Yield the tangents without one of them, or with one of simpler numbers."""
    for at, (leaf, tangent) in enumerate(step.tangents):
        if len(step.tangents) > 1:
            yield spliced(step.tangents, at)
        yield from (spliced(step.tangents, at, (leaf, simpler)) for simpler in simpler_constants(tangent))


SIMPLIFICATIONS: Final[tuple[Simplification, ...]] = (
    single_application,
    shorter_lives,
    fewer_backwards,
    without_unused,
    other_outputs,
    cut_graph,
    rewired,
    _plainer(Apply, "arguments", _fewer_arguments),
    merged_leaves,
    fewer_reads,
    without_one_change,
    fewer_axes,
    shorter_axes,
    _plainer(Apply, "attributes", simpler_attributes),
    _plainer(Backward | Grad, "seed", _simpler_seeds),
    _plainer(Backward | Grad, "forward", lambda start: (False,) * start.forward),
    _plainer(Jvp, "tangents", _simpler_tangents),
    plainer_leaves,
    plainer_dtypes,
    distinct_operands,
)


def simpler_constants(constant: Constant) -> Iterator[Constant]:
    """Yield constants of the same shape with simpler numbers: ones, small integers, rounded; then entry by entry."""
    array = constant.to_numpy()
    if array.dtype.kind == "b":
        yield Constant.of(np.ones_like(array))
        return
    counting = np.arange(1, array.size + 1).reshape(array.shape).astype(array.dtype)
    for simpler in (np.ones_like(array), counting, np.copysign(counting, array), np.round(array), np.trunc(array)):
        yield Constant.of(simpler, constant.dtype)
    for index in range(array.size if array.size <= COUNTS["simplified_entries"] else 0):
        for number in (1.0, 2.0, 0.5, np.round(array.flat[index]), np.round(array.flat[index], 1)):
            changed = array.copy()
            changed.flat[index] = number
            yield Constant.of(changed, constant.dtype)
    yield Constant.of(np.round(array, 1), constant.dtype)


def complexity(constant: Constant) -> tuple[int, tuple[str, ...]]:
    """Return the total length of the numbers as text, and the texts to break ties.

    A zero counts as longer than it is, since zeros hide too much.
    """
    numbers = constant.to_numpy().ravel().astype(float).tolist()
    words = tuple(f"{number:g}" if float(f"{number:g}") == number else repr(number) for number in numbers)
    return sum(len(word) + (word in {"0", "-0"}) for word in words), words


def _as_leaf(current: Evaluated, name: str) -> Leaf:
    definition = current.scenario.definitions[name]
    if isinstance(definition, Leaf):
        return definition
    return Leaf(name, Constant.of(current.values[name], _dtype(current, name)), name in current.recorded)


def _dtype(current: Evaluated, name: str) -> str:
    return rewrite.promoted(rewrite.floating_dtypes(current.scenario)[name])


def _without_vain_reads(steps: Steps) -> list[Step]:
    """Leave out the reads of names that no operator or backward uses any more, so that they can be removed, too."""
    jvps = {step.name for step in steps if isinstance(step, Jvp)}
    sources = [step for step in steps if isinstance(step, Apply | Backward | Jvp)]
    used = jvps.union(*(step.uses for step in needed(sources, jvps, actions=True)))
    return [step for step in steps if not isinstance(step, Read | ZeroGrad) or step.name in used]


def _only(chosen: Leaf, *index: slice | int) -> Callable[[Leaf], Index]:
    """Return the function that returns the index for one leaf, and an empty one for the others."""
    return lambda leaf: index if leaf is chosen else ()


def _parts(length: int) -> list[slice]:
    """Return parts of an axis: its first entries, halves, three quarters, and all but one entry, at either end."""
    half, quarter = length // 2, length // 4
    bounds = [
        *((0, 1), (0, 2), (0, half), (half, length), (0, length - quarter), (quarter, length)),
        *((0, length - 1), (1, length)),
    ]
    return [slice(start, stop) for start, stop in dict.fromkeys(bounds) if start < stop and stop - start < length]


def _of_length(old: int, part: slice, leaf: Leaf) -> Index:
    """Return the index of a part of each axis of some length."""
    return tuple(part if length == old else slice(None) for length in leaf.value.shape)


def _of_leading_axes(rank: int, leaf: Leaf) -> Index:
    """Return the index of the first entry along all axes but the last ``rank``."""
    dropped = leaf.value.shape[: max(0, len(leaf.value.shape) - rank)]
    return () if 0 in dropped else (0,) * len(dropped)


def _both_ways(current: Evaluated, index: Callable[[Leaf], Index], lengths: dict[int, int]) -> Iterator[Steps]:
    """Yield the steps with parts of leaves, and attributes adapted to the lengths or in their simplest form."""

    def part(leaf: Leaf) -> Constant:
        return Constant.of(np.asarray(leaf.value.to_numpy()[index(leaf)]), leaf.value.dtype)

    steps = rewrite.with_values(current.scenario.steps, part)
    yield mapped(steps, Apply, lambda step: with_lengths(step, lengths))
    yield mapped(steps, Apply, lambda step: replace(step, attributes=next(simpler_attributes(step), step.attributes)))
