"""The kinds of step by tag and keyword."""

from __future__ import annotations

from typing import Final

from refgrad.scenario.steps.kinds import STEPS
from refgrad.scenario.steps.step import Step


class Vocabulary:
    """Kinds of step by the tag of their JSON form and by the keyword of their line."""

    __slots__ = ("actions", "assignments", "by_tag", "steps")

    def __init__(self, steps: tuple[type[Step], ...]) -> None:
        self.steps = steps
        self.by_tag = {step.form.tag: step for step in steps}
        self.assignments = {step.form.keyword: step for step in steps if step.form.target}
        self.actions = {step.form.keyword: step for step in steps if not step.form.target}


VOCABULARY: Final = Vocabulary(STEPS)
