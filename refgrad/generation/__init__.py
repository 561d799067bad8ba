"""Generators of scenarios, and the shrinker."""

from refgrad.generation.choices import Choices, SeededChoices
from refgrad.generation.dtypes import with_dtypes
from refgrad.generation.lifecycles.lifecycles import generate_lifecycle, lifecycle_scenario
from refgrad.generation.lifecycles.profile import ALL_FEATURES, LIFECYCLE, LIFECYCLE_OPERATORS, lifecycle_profile
from refgrad.generation.profile import Dtype, GenerationError, Meeting, Profile, meeting
from refgrad.generation.random_graphs import generate, random_scenario
from refgrad.generation.reach import Reach
from refgrad.generation.search import Counterexample, Search, find_counterexample
from refgrad.generation.shrinking.shrinking import shrink
from refgrad.generation.shrinking.weight import weight
from refgrad.generation.single_operators.always.applications import applied_twice
from refgrad.generation.single_operators.always.corners import corner_scenarios, plain_corners
from refgrad.generation.single_operators.always.exceptional import Place, exceptional_places, numbers_at
from refgrad.generation.single_operators.always.large_arrays import large_scenarios, period_of, with_constants
from refgrad.generation.single_operators.always.memory import memory_scenarios, memory_scenarios_of_second_order
from refgrad.generation.single_operators.always.subsets import subsets_of_second_order
from refgrad.generation.single_operators.always.variety import (
    forward_corners,
    second_order_corners,
    third_order_corners,
)
from refgrad.generation.single_operators.contracts import contract_scenario, contract_scenarios_of_ones
from refgrad.generation.single_operators.first_order import edge_scenario, operator_scenario
from refgrad.generation.single_operators.forward_mode import forward_scenario
from refgrad.generation.single_operators.layouts import LAYOUTS
from refgrad.generation.single_operators.second_order import double_backward_scenario, second_order_scenario
from refgrad.generation.single_operators.third_order import third_order_scenario, triple_backward_scenario
from refgrad.generation.small_graphs import Form, Role, as_expression, small_graph_scenario, small_graphs
from refgrad.generation.structured_graphs import structured_graphs
from refgrad.generation.tangents import without_tangents
from refgrad.generation.wanted_gradients import without_gradients_of

__all__ = [
    "ALL_FEATURES",
    "LAYOUTS",
    "LIFECYCLE",
    "LIFECYCLE_OPERATORS",
    "Choices",
    "Counterexample",
    "Dtype",
    "Form",
    "GenerationError",
    "Meeting",
    "Place",
    "Profile",
    "Reach",
    "Role",
    "Search",
    "SeededChoices",
    "applied_twice",
    "as_expression",
    "contract_scenario",
    "contract_scenarios_of_ones",
    "corner_scenarios",
    "double_backward_scenario",
    "edge_scenario",
    "exceptional_places",
    "find_counterexample",
    "forward_corners",
    "forward_scenario",
    "generate",
    "generate_lifecycle",
    "large_scenarios",
    "lifecycle_profile",
    "lifecycle_scenario",
    "meeting",
    "memory_scenarios",
    "memory_scenarios_of_second_order",
    "numbers_at",
    "operator_scenario",
    "period_of",
    "plain_corners",
    "random_scenario",
    "second_order_corners",
    "second_order_scenario",
    "shrink",
    "small_graph_scenario",
    "small_graphs",
    "structured_graphs",
    "subsets_of_second_order",
    "third_order_corners",
    "third_order_scenario",
    "triple_backward_scenario",
    "weight",
    "with_constants",
    "with_dtypes",
    "without_gradients_of",
    "without_tangents",
]
