"""Backward calls of a random graph: their outputs and seeds, and the reads at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from refgrad.generation.choices import Choices
from refgrad.generation.draft.admission import MARGIN
from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.leaves import accepted_range, random_array
from refgrad.generation.draft.value import Value
from refgrad.generation.dtypes import with_wider_leaves
from refgrad.generation.profile import GenerationError, Profile, reducing_operators
from refgrad.operators import Operator
from refgrad.operators.structure import Shape
from refgrad.scenario import Apply, Backward, Constant, Read, Scenario, Step

SEED_RANGE: Final = (-3.0, 3.0)
INTERIOR: Final = 0.25
"""Probability that an output is drawn among all results rather than among those that no operator uses."""

REBUILT: Final = 0.2
"""Probability that a later backward runs on a new copy of the graph of the previous output."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A planned backward: ``graph`` has one bit for each result that it traverses, ``before`` the steps before it."""

    output: str
    seed: Constant | None
    graph: int
    before: tuple[Step, ...] = ()


def completed(draft: Draft) -> Scenario:
    """Return the scenario with its backward calls and, at its end, its reads.

    Raises :class:`GenerationError` if there is no output from which the profile allows a backward to start.
    """
    outputs = _outputs(draft)
    if not outputs:
        raise GenerationError("no result is a scalar that requires grad, nor can one be reduced to such")
    walks = _walks(draft, outputs)
    steps = list(draft.steps)
    for number, walk in enumerate(walks):
        shared = any(walk.graph & later.graph for later in walks[number + 1 :])
        retain = shared or (number < len(walks) - 1 and draft.choices.boolean(0.2))
        steps += [*walk.before, Backward(walk.output, walk.seed, retain)]
    steps += [Read("grad", leaf.name) for leaf in draft.leaves if leaf.requires_grad]
    steps += [Read("value", name) for name in dict.fromkeys(walk.output for walk in walks)]
    if draft.profile.wider is None:
        return Scenario(tuple(steps))
    return with_wider_leaves(Scenario(tuple(steps)), draft.choices, draft.profile.wider)


def _outputs(draft: Draft) -> list[Value]:
    """Return the outputs of the backward calls, reduced to scalars if the profile requires that."""
    recorded = [value for value in draft.results if value.requires_grad]
    sinks = sorted((v for v in recorded if not v.uses), key=lambda value: -value.graph.bit_count())
    outputs: list[Value] = []
    reached = 0
    for number in draft.choices.repeat(1, draft.profile.max_backwards):
        pool = recorded if outputs and draft.choices.boolean(INTERIOR) else sinks[number:] or recorded
        if not draft.profile.accumulate:
            pool = [value for value in pool if not value.leaves & reached]
        if not pool:
            break
        output = _scalar(draft, draft.choices.choice(pool[: 1 + len(pool) // 3]), recorded)
        if output is None or (reached & output.leaves and not draft.profile.accumulate):
            break
        outputs.append(output)
        reached |= output.leaves
    return outputs


def _scalar(draft: Draft, output: Value, others: list[Value]) -> Value | None:
    """Return the output, or, if the profile allows no seeds, a scalar made of it or of another value, or None."""
    if draft.profile.seeds:
        return output
    for value in (output, *reversed(others)):
        if value.shape == ():
            return value
        fitting = [
            row for row in reducing_operators(draft.profile) if value.within(*accepted_range(row, row.arguments[0]))
        ]
        if fitting and _reduce(draft, draft.choices.choice(fitting), value):
            return draft.results[-1]
    return None


def _reduce(draft: Draft, operator: Operator, value: Value) -> bool:
    result = draft.compute(operator, [value], {}, margin=MARGIN)
    if result is not None:
        draft.add_result(result, operator.name, {})
    return result is not None


def _walks(draft: Draft, outputs: list[Value]) -> list[Walk]:
    walks: list[Walk] = []
    built = len(draft.results)
    for number, output in enumerate(outputs):
        if number and draft.profile.accumulate and draft.choices.boolean(REBUILT):
            copies = _rebuilt(draft, outputs[number - 1], built)
            seed = _seed(draft, outputs[number - 1])
            walks.append(Walk(copies[-1].name, seed, ((1 << len(copies)) - 1) << built, copies))
            built += len(copies)
        else:
            walks.append(Walk(output.name, _seed(draft, output), output.graph))
    return walks


def _rebuilt(draft: Draft, output: Value, built: int) -> tuple[Apply, ...]:
    """Return copies of the applications that lead to the output, under new names."""
    names: dict[str, str] = {}
    copies: list[Apply] = []
    for position, value in enumerate(draft.results):
        if output.graph >> position & 1 and isinstance(value.step, Apply):
            names[value.name] = f"a{built + len(copies) + 1}"
            arguments = tuple(names.get(argument.name, argument.name) for argument in value.arguments)
            copies.append(Apply(names[value.name], value.step.operator, arguments, value.step.attributes))
    return tuple(copies)


def _seed(draft: Draft, output: Value) -> Constant | None:
    if not draft.profile.seeds or (output.shape == () and not draft.choices.boolean(0.3)):
        return None
    return random_seed(draft.choices, output.shape, draft.profile)


def random_seed(choices: Choices, shape: Shape, profile: Profile) -> Constant:
    """Return a random seed or factor of either sign in the profile's dtype."""
    return Constant.of(random_array(choices, *SEED_RANGE, shape, profile.dtype), profile.dtype)
