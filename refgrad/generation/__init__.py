"""Generators of scenarios, and the shrinker."""

from refgrad.generation.graphs import (
    GraphForm,
    Reach,
    Role,
    as_expression,
    random_scenario,
    small_graph_scenario,
    small_graphs,
    structured_graphs,
)
from refgrad.generation.lifecycles import (
    ALL_FEATURES,
    CALLED_OPERATORS,
    LIFECYCLE,
    LIFECYCLE_OPERATORS,
    lifecycle_profile,
    lifecycle_scenario,
)
from refgrad.generation.neighbours import neighbours
from refgrad.generation.profile import Choices, Dtype, GenerationError, Meeting, Profile, meeting
from refgrad.generation.search import Counterexample, find_counterexample
from refgrad.generation.shrinking import shrink, weight
from refgrad.generation.single_operators.derivatives import (
    double_backward_scenario,
    edge_scenario,
    forward_cases,
    forward_graph_scenario,
    forward_scenario,
    mixed_modes_cases,
    mixed_modes_scenario,
    operator_scenario,
    pushed_forward,
    second_order_cases,
    second_order_scenario,
    subsets_of_second_order,
    third_order_cases,
    third_order_scenario,
    with_tangents,
)
from refgrad.generation.single_operators.exceptional import Position, everywhere, exceptional_positions, numbers_at
from refgrad.generation.single_operators.fixed_cases import fixed_cases, plain_cases
from refgrad.generation.single_operators.large_arrays import large_scenarios, period_of, uncountable_scenarios
from refgrad.generation.single_operators.memory import (
    LAYOUTS,
    applied_again,
    applied_twice,
    contract_scenario,
    contract_scenarios_of_ones,
    memory_scenarios,
    memory_scenarios_of_second_order,
    scenarios_of_freed_values,
)
