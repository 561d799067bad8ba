"""What is a scenario, and how is it written down?"""

from refgrad.scenario.attributes import AttributeValue, Slice
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError
from refgrad.scenario.scenario import Scenario, parse
from refgrad.scenario.step import Step
from refgrad.scenario.steps.apply import Apply
from refgrad.scenario.steps.backward import Backward
from refgrad.scenario.steps.grad import Grad
from refgrad.scenario.steps.leaf import Leaf
from refgrad.scenario.steps.read import Read
from refgrad.scenario.steps.zero_grad import ZeroGrad

__all__ = [
    "Apply",
    "AttributeValue",
    "Backward",
    "Constant",
    "Grad",
    "Leaf",
    "Read",
    "Scenario",
    "ScenarioError",
    "Slice",
    "Step",
    "ZeroGrad",
    "parse",
]
