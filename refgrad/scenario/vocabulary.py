"""Which steps can a scenario have, and which step does a word begin?"""

from __future__ import annotations

from typing import Final

from refgrad.scenario.step import Step
from refgrad.scenario.steps.apply import Apply
from refgrad.scenario.steps.backward import Backward
from refgrad.scenario.steps.delete import Delete
from refgrad.scenario.steps.detach import Detach
from refgrad.scenario.steps.grad import Grad
from refgrad.scenario.steps.hook import Hook
from refgrad.scenario.steps.jvp import Jvp
from refgrad.scenario.steps.leaf import Leaf
from refgrad.scenario.steps.read import Read
from refgrad.scenario.steps.region import Enter, Leave
from refgrad.scenario.steps.requires_grad import RequireGrad, StopRequiringGrad
from refgrad.scenario.steps.retain_grad import RetainGrad
from refgrad.scenario.steps.unhook import Unhook
from refgrad.scenario.steps.write import Write
from refgrad.scenario.steps.zero_grad import ZeroGrad


class Vocabulary:
    """Kinds of step, found by the tag of their JSON form and by the keyword of their line."""

    __slots__ = ("actions", "assignments", "by_tag", "steps")

    def __init__(self, steps: tuple[type[Step], ...]) -> None:
        self.steps = steps
        self.by_tag = {step.tag: step for step in steps}
        self.assignments = {step.keyword: step for step in steps if step.assigns}
        self.actions = {step.keyword: step for step in steps if not step.assigns}


STEPS: Final[tuple[type[Step], ...]] = (
    Leaf,
    Apply,
    Grad,
    Jvp,
    Detach,
    Backward,
    Read,
    ZeroGrad,
    Enter,
    Leave,
    RequireGrad,
    StopRequiringGrad,
    Delete,
    Write,
    Hook,
    Unhook,
    RetainGrad,
)
VOCABULARY: Final = Vocabulary(STEPS)
