"""Which scenarios are tried, and how is one that fails made small?"""

from refgrad.strategies.choices import Choices, DrawnChoices, SeededChoices
from refgrad.strategies.generation import generate, random_scenario, scenarios
from refgrad.strategies.profile import GenerationError, Profile
from refgrad.strategies.single_operator import edge_scenario, operator_scenario

__all__ = [
    "Choices",
    "DrawnChoices",
    "GenerationError",
    "Profile",
    "SeededChoices",
    "edge_scenario",
    "generate",
    "operator_scenario",
    "random_scenario",
    "scenarios",
]
