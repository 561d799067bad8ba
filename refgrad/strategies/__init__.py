"""Which scenarios are tried, and how is one that fails made small?"""

from refgrad.generation.shrinking.shrinking import shrink, weight
from refgrad.strategies.choices import Choices, DrawnChoices, SeededChoices
from refgrad.strategies.contracts import contract_scenario
from refgrad.strategies.forward_mode import forward_scenario
from refgrad.strategies.generation import generate, random_scenario, scenarios
from refgrad.strategies.layouts import LAYOUTS
from refgrad.strategies.life_draft import ALL_FEATURES, LIFECYCLE_OPERATORS, LifecycleProfile
from refgrad.strategies.lifecycles import lifecycle_scenario, lifecycles
from refgrad.strategies.precision import with_dtypes
from refgrad.strategies.profile import Dtype, GenerationError, Profile
from refgrad.strategies.search import EXAMPLES, Counterexample, Search, find_counterexample
from refgrad.strategies.second_order import double_backward_scenario, second_order_scenario
from refgrad.strategies.single_operator import edge_scenario, operator_scenario
from refgrad.strategies.tangents import without_tangents
from refgrad.strategies.third_order import third_order_scenario, triple_backward_scenario

__all__ = [
    "ALL_FEATURES",
    "EXAMPLES",
    "LAYOUTS",
    "LIFECYCLE_OPERATORS",
    "Choices",
    "Counterexample",
    "DrawnChoices",
    "Dtype",
    "GenerationError",
    "LifecycleProfile",
    "Profile",
    "Search",
    "SeededChoices",
    "contract_scenario",
    "double_backward_scenario",
    "edge_scenario",
    "find_counterexample",
    "forward_scenario",
    "generate",
    "lifecycle_scenario",
    "lifecycles",
    "operator_scenario",
    "random_scenario",
    "scenarios",
    "second_order_scenario",
    "shrink",
    "third_order_scenario",
    "triple_backward_scenario",
    "weight",
    "with_dtypes",
    "without_tangents",
]
