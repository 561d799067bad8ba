"""Tests that fixed seeds make the scenarios that they have always made: findings are told by seed."""

from collections.abc import Callable

from refgrad.generation import (
    Profile,
    contract_scenario,
    double_backward_scenario,
    edge_scenario,
    forward_scenario,
    lifecycle_profile,
    lifecycle_scenario,
    operator_scenario,
    random_scenario,
    second_order_scenario,
    third_order_scenario,
)
from refgrad.scenario import Scenario
from tests.effort import each
from tests.generation.triple_backward import triple_backward_scenario

TWO_DTYPES = Profile(dtype="float32", wider="float64")
FEW_FEATURES = lifecycle_profile(features=frozenset({"hooks"}))

FROZEN: dict[str, tuple[Callable[[], Scenario], str]] = {
    "a random graph": (lambda: random_scenario(7), "64862937135434e0"),
    "a random graph without seeds": (lambda: random_scenario(7, Profile(seeds=False)), "31beac308aaab583"),
    "a random graph of scalars": (lambda: random_scenario(7, Profile(scalars_only=True)), "856a380161d956ba"),
    "a random graph of two dtypes": (
        lambda: random_scenario(7, Profile(dtype="float32", wider="float64")),
        "9d3aa5f2f1e09b04",
    ),
    "a random graph on edges": (lambda: random_scenario(7, Profile(edges=0.4, special=0.5)), "f1f72292c1c9516e"),
    "an operator": (lambda: operator_scenario(7, "matmul"), "4671e6a964b75e2d"),
    "an operator with attributes": (lambda: operator_scenario(7, "gather"), "919eccf62353b66e"),
    "an edge": (lambda: edge_scenario(7, "relu"), "e1ef90848ab4337e"),
    "second order": (lambda: second_order_scenario(7, "multiply"), "7eaf49c5393abaeb"),
    "a double backward": (lambda: double_backward_scenario(7), "ffb35445350384da"),
    "third order": (lambda: third_order_scenario(7, "divide"), "3e69be3e248bb023"),
    "a triple backward": (lambda: triple_backward_scenario(7), "862aa02bc797d1ea"),
    "a contract": (lambda: contract_scenario(7, "add"), "0451fa3d23b6015a"),
    "forward mode": (lambda: forward_scenario(7, "tanh"), "247c02e43a85cf2b"),
    "a lifecycle": (lambda: lifecycle_scenario(7), "a88c68b3ece96ab5"),
    "a lifecycle of few features": (
        lambda: lifecycle_scenario(7, lifecycle_profile(features=frozenset({"hooks"}))),
        "8b56820c4a9db400",
    ),
}
"""How a scenario is made, and its id."""


@each("name", FROZEN)
def test_a_seed_makes_the_scenario_that_it_has_always_made(name: str) -> None:
    make, wanted = FROZEN[name]
    assert make().id == wanted
