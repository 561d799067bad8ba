"""Operands that are views: they lie in memory otherwise than their entries follow each other.

Libraries whose tensors have strides make views of what transposes, steps over, turns around or stretches; a rule that
reads the memory of such an operand in the order of the memory is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import numpy as np

from refgrad.generation.choices import Choices
from refgrad.generation.draft.admission import MARGIN, Array
from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.value import Value
from refgrad.generation.profile import Profile
from refgrad.interpreter import Float64, evaluate, keywords
from refgrad.operators import operator_table
from refgrad.scenario import Apply, AttributeValue, Constant, Leaf, Scenario, Slice

Viewed = tuple[Array, tuple[tuple[str, AttributeValue], ...]]
"""What a leaf has to hold, and the attributes by which an operator makes the operand of it."""

CROSSED: Final = 0.5
"""How often an operand is transposed, if that changes the order of its memory: few shapes are of that kind."""

GAP: Final = 0.5
"""What lies between the entries that a step takes."""


def _transposed(array: Array) -> Viewed | None:
    crossing = sum(length > 1 for length in array.shape) > 1
    return (array.T, ()) if crossing else None


def _turned(array: Array) -> Viewed | None:
    return (np.flip(array), ()) if array.size > 1 else None


def _stepped(array: Array) -> Viewed:
    held = np.full((*array.shape[:-1], 2 * array.shape[-1]), GAP, dtype=array.dtype)
    held[..., ::2] = array
    return held, (("index", (*[Slice()] * (array.ndim - 1), Slice(step=2))),)


def _stretched(array: Array) -> Viewed | None:
    return (array[:1], (("shape", array.shape),)) if len(array) > 1 else None


LAYOUTS: Final[Mapping[str, Callable[[Array], Viewed | None]]] = MappingProxyType({
    "transpose": _transposed,
    "flip": _turned,
    "index": _stepped,
    "broadcast_to": _stretched,
})
"""The operators of which the operand may be a view, and what each asks of the leaf; None where it makes none."""


def laid_out(scenario: Scenario, choices: Choices, profile: Profile, share: float) -> Scenario:
    """Return the scenario with one operand that is a view of its leaf, by an operator that the profile allows.

    Conditions stay as they are, and so does an operand of which the operator makes no view; all but ``share`` of the
    scenarios do too.
    """
    used = {name for step in scenario.applications for name in step.arguments}
    numbers = [leaf for leaf in scenario.leaves if leaf.name in used and leaf.value.dtype != "bool"]
    leaves = [leaf for leaf in numbers if leaf.value.shape and leaf.value.size]
    allowed = [name for name in LAYOUTS if profile.allows(name)]
    views = [(leaf, name, LAYOUTS[name](leaf.value.to_numpy())) for leaf in leaves for name in allowed]
    telling = [(leaf, name, viewed) for leaf, name, viewed in views if viewed is not None]
    if not choices.boolean(share) or not telling:
        return scenario
    crossed = [(leaf, name, viewed) for leaf, name, viewed in telling if name == "transpose"]
    leaf, operator, viewed = choices.choice(crossed if crossed and choices.boolean(CROSSED) else telling)
    changed = through_a_view(scenario, leaf, operator, viewed)
    return changed if operator != "broadcast_to" or admitted(changed, profile, choices) else scenario


def through_a_view(scenario: Scenario, leaf: Leaf, operator: str, viewed: Viewed) -> Scenario:
    """Return the scenario in which every operator but the new one takes the view in place of the leaf."""
    array, attributes = viewed
    held = replace(leaf, value=Constant.of(np.ascontiguousarray(array), leaf.value.dtype))
    view = Apply(f"{leaf.name}_view", operator, (leaf.name,), attributes)
    steps = []
    for step in scenario.steps:
        if step == leaf:
            steps += [held, view]
        elif isinstance(step, Apply):
            names = tuple(view.name if name == leaf.name else name for name in step.arguments)
            steps.append(replace(step, arguments=names))
        else:
            steps.append(step)
    return Scenario(tuple(steps))


def admitted(scenario: Scenario, profile: Profile, choices: Choices) -> bool:
    """Whether entries that are repeated now leave every operator inside of its domain and off its kinks."""
    draft = Draft(profile, (), choices)

    def fits(step: Apply) -> bool:
        operands = [Value.of(np.asarray(values[name]), requires_grad=True) for name in step.arguments]
        return draft.compute(operator_table()[step.operator], operands, keywords(step), margin=MARGIN) is not None

    with np.errstate(all="ignore"):
        values = evaluate(scenario, Float64())
        return all(map(fits, scenario.applications))
