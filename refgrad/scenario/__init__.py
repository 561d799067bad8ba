"""What is a scenario, and how is it written down?"""

from refgrad.scenario.attributes import AttributeValue, Slice
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError
from refgrad.scenario.scenario import Scenario, parse
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

__all__ = [
    "Apply",
    "AttributeValue",
    "Backward",
    "Constant",
    "Delete",
    "Detach",
    "Enter",
    "Grad",
    "Hook",
    "Jvp",
    "Leaf",
    "Leave",
    "Read",
    "RequireGrad",
    "RetainGrad",
    "Scenario",
    "ScenarioError",
    "Slice",
    "Step",
    "StopRequiringGrad",
    "Unhook",
    "Write",
    "ZeroGrad",
    "parse",
]
