"""Scenarios: steps, constants and attributes, and their text and JSON forms."""

from refgrad.scenario.attributes import AttributeValue, Slice
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError
from refgrad.scenario.scenario import Scenario, parse
from refgrad.scenario.steps.kinds import (
    Apply,
    Backward,
    Delete,
    Detach,
    Enter,
    Grad,
    Hook,
    Jvp,
    Leaf,
    Leave,
    Read,
    RequireGrad,
    RetainGrad,
    StopRequiringGrad,
    Unhook,
    Write,
    ZeroGrad,
)
from refgrad.scenario.steps.step import Step

__all__ = [
    "Apply", "AttributeValue", "Backward", "Constant", "Delete", "Detach", "Enter", "Grad", "Hook", "Jvp", "Leaf",
    "Leave", "Read", "RequireGrad", "RetainGrad", "Scenario", "ScenarioError", "Slice", "Step", "StopRequiringGrad",
    "Unhook", "Write", "ZeroGrad", "parse",
]  # fmt: skip
