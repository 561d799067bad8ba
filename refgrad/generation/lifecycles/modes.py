"""Steps of a lifecycle that decide what is recorded: regions, and whether a tensor requires grad."""

from __future__ import annotations

from refgrad.generation.draft.draft import Draft
from refgrad.generation.lifecycles.choosing import misuses, some_value
from refgrad.generation.lifecycles.writes import overwrite
from refgrad.scenario import Enter, Leave, RequireGrad, StopRequiringGrad


def enter_region(draft: Draft) -> None:
    """Enter a region that records nothing, or, if the engine has them, one that records."""
    both = ["no_grad", "no_grad", "enable_grad"] if "enable_grad" in draft.profile.features else ["no_grad"]
    mode = draft.choices.choice(both)
    draft.steps.append(Enter("no_grad" if mode == "no_grad" else "enable_grad"))
    draft.regions.append(mode == "enable_grad")


def leave_region(draft: Draft) -> None:
    """Leave the innermost region, if there is one, perhaps by an error."""
    if draft.regions:
        draft.steps.append(Leave(draft.choices.boolean(0.4)))
        draft.regions.pop()


def update(draft: Draft) -> None:
    """Overwrite a tensor while nothing is recorded, as optimizers do."""
    draft.steps.append(Enter("no_grad"))
    draft.regions.append(False)
    overwrite(draft)
    leave_region(draft)


def toggle_requires_grad(draft: Draft) -> None:
    """Change whether a leaf, or rarely any value, requires grad."""
    leaves = [value for value in draft.values if value.is_leaf]
    value = some_value(draft) if misuses(draft) else draft.choices.choice(leaves or draft.values)
    value.touched = True
    if value.requires_grad:
        draft.steps.append(StopRequiringGrad(value.name))
        value.requires_grad, value.differentiable = not value.is_leaf, False
    else:
        draft.steps.append(RequireGrad(value.name))
        value.requires_grad = value.is_leaf = value.differentiable = True
