"""Which scenarios are tried, and how is one that fails made small?"""

from refgrad.strategies.choices import Choices, DrawnChoices, SeededChoices
from refgrad.strategies.generation import generate, random_scenario, scenarios
from refgrad.strategies.profile import GenerationError, Profile
from refgrad.strategies.search import EXAMPLES, Counterexample, Search, find_counterexample
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
    "edge_scenario",
    "find_counterexample",
    "generate",
    "operator_scenario",
    "random_scenario",
    "scenarios",
    "shrink",
    "weight",
]
