"""Which scenarios are tried, and how is one that fails made small?"""

from refgrad.strategies.choices import Choices, DrawnChoices, SeededChoices
from refgrad.strategies.generation import generate, random_scenario, scenarios
from refgrad.strategies.profile import GenerationError, Profile
from refgrad.strategies.search import EXAMPLES, Counterexample, Search, find_counterexample
from refgrad.strategies.second_order import double_backward_scenario, second_order_scenario
from refgrad.strategies.shrinking import shrink, weight
from refgrad.strategies.single_operator import edge_scenario, operator_scenario

__all__ = [
    "EXAMPLES",
    "Choices",
    "Counterexample",
    "DrawnChoices",
    "GenerationError",
    "Profile",
    "Search",
    "SeededChoices",
    "double_backward_scenario",
    "edge_scenario",
    "find_counterexample",
    "generate",
    "operator_scenario",
    "random_scenario",
    "scenarios",
    "second_order_scenario",
    "shrink",
    "weight",
]
