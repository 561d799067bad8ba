"""Scenarios: steps, constants and attributes, and their text and JSON forms."""

from refgrad.scenario.attributes import AttributeValue, Slice
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError
from refgrad.scenario.kinds import (
    Apply,
    Backward,
    DeleteName,
    Detach,
    EnterMode,
    FunctionCall,
    Grad,
    Hook,
    Jvp,
    Leaf,
    LeaveMode,
    Read,
    RequireGrad,
    RetainGrad,
    StopRequiringGrad,
    Unhook,
    Write,
    ZeroGrad,
)
from refgrad.scenario.scenario import Scenario, parse
from refgrad.scenario.step import Step
