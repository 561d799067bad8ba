"""Tests that fixed seeds make the scenarios that they have always made: findings are told by seed."""

from collections.abc import Callable, Iterable
from hashlib import sha256

import pytest

from refgrad.generation import (
    Profile,
    applied_twice,
    contract_scenario,
    contract_scenarios_of_ones,
    double_backward_scenario,
    edge_scenario,
    exceptional_positions,
    fixed_cases,
    forward_cases,
    forward_scenario,
    large_scenarios,
    lifecycle_profile,
    lifecycle_scenario,
    memory_scenarios,
    memory_scenarios_of_second_order,
    numbers_at,
    operator_scenario,
    plain_cases,
    random_scenario,
    second_order_cases,
    second_order_scenario,
    subsets_of_second_order,
    third_order_cases,
    third_order_scenario,
)
from refgrad.operators import operator_table
from refgrad.scenario import Scenario
from tests.effort import each, sampled
from tests.generation.triple_backward import triple_backward_scenario

pytestmark = pytest.mark.turns(2)

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


SAMPLE = (
    "add_at", "broadcast_to", "concatenate", "conv1d", "diag_embed", "embedding", "expand", "expand_dims",
    "gather", "hard_tanh", "index", "index_add", "layer_norm", "masked_scatter", "matmul", "max", "moveaxis",
    "nll_loss", "pad", "power", "put", "repeat_interleave", "reshape", "roll", "set_at", "sort", "split_at",
    "squeeze", "sum", "tile", "trace", "transpose", "unflatten", "unstack", "where",
)  # fmt: skip
"""Operators whose operands and attributes are chosen by all rules that there are."""

EVERY = Profile(operators=frozenset(SAMPLE))
NARROW = Profile(dtype="float32", wider="float64", edges=0.3, special=0.5, operators=frozenset(SAMPLE))
SCALARS = Profile(scalars_only=True, operators=frozenset(SAMPLE))

ALL_CASES: dict[str, tuple[Callable[[str], Iterable[Scenario]], str]] = {
    "fixed cases": (fixed_cases, "cbbb3899939a81aa"),
    "fixed cases of float32": (lambda name: fixed_cases(name, NARROW, 12), "3c1cc4c5f750d0b6"),
    "fixed cases of scalars": (lambda name: fixed_cases(name, SCALARS), "4f0b9b8b26d87727"),
    "plain cases": (lambda name: plain_cases(name, EVERY), "0e3a617bfc063876"),
    "second order": (lambda name: second_order_cases(name, EVERY, 6, weighted=None), "b8de77302cb38d7d"),
    "subsets of second order": (lambda name: subsets_of_second_order(name, EVERY, weighted=None), "a4f13e3be9a71c69"),
    "third order": (lambda name: third_order_cases(name, EVERY, 4), "fd25e2897414e4a6"),
    "forward mode": (lambda name: forward_cases(name, EVERY), "1f099004753b67c4"),
    "views": (memory_scenarios, "2751c7d32019e524"),
    "views at second order": (
        lambda name: memory_scenarios_of_second_order(name, EVERY, weighted=None),
        "f6b327d2ca0298c8",
    ),
    "contracts": (lambda name: contract_scenarios_of_ones(name, EVERY), "ff2152808f173f27"),
    "operators applied twice": (applied_twice, "f61ea73cd3dc975d"),
    "exceptional numbers": (
        lambda name: [each.holding(number) for each in exceptional_positions(name) for number in numbers_at(each)],
        "1a88378a9410c6fc",
    ),
    "single operators": (lambda name: [operator_scenario(seed, name, NARROW) for seed in range(4)], "092c1df16ab3ef9f"),
    "edges": (
        lambda name: [edge_scenario(seed, name) for seed in range(2 * bool(operator_table()[name].edges))],
        "ef7fb0bfe5c4c4c1",
    ),
    "orders and modes": (
        lambda name: [
            make(seed, name)
            for make in (second_order_scenario, third_order_scenario, contract_scenario, forward_scenario)
            for seed in range(2 * bool(operator_table()[name].differentiable_arguments))
        ],
        "fff6d86445749534",
    ),
}
"""How all scenarios of an operator are made, and the digest of those of the sample."""


def test_the_sample_has_every_type_of_attribute_and_of_operands() -> None:
    rules = {name: {row.operands, *(each.type for each in row.attributes)} for name, row in operator_table().items()}
    assert set().union(*(rules[name] for name in SAMPLE)) == set().union(*rules.values())


def digest(scenarios: Iterable[Scenario]) -> str:
    return sha256("".join(scenario.id for scenario in scenarios).encode()).hexdigest()[:16]


@pytest.mark.parametrize("kind", sampled(ALL_CASES, 2))
def test_an_operator_has_the_cases_that_it_has_always_had(kind: str) -> None:
    make, expected = ALL_CASES[kind]
    assert digest(scenario for name in SAMPLE for scenario in make(name)) == expected


def test_large_arrays_are_those_that_they_have_always_been() -> None:
    assert (
        digest(scenario for name in ("concatenate", "layer_norm", "power") for scenario in large_scenarios(name))
        == "2f20a74de48e3ec8"
    )


MANY: dict[str, tuple[Callable[[int], Scenario], str]] = {
    "random graphs": (lambda seed: random_scenario(seed, EVERY), "a2cf8f14883b3660"),
    "random graphs of two dtypes": (lambda seed: random_scenario(seed, NARROW), "2c53cc6f7ac17e33"),
    "random graphs of scalars": (lambda seed: random_scenario(seed, SCALARS), "fc64d296304bda3d"),
    "lifecycles": (lifecycle_scenario, "24ab79c6974ea700"),
    "lifecycles of few features": (lambda seed: lifecycle_scenario(seed, FEW_FEATURES), "1cc2d6da20205dae"),
    "double backwards": (lambda seed: double_backward_scenario(seed, EVERY), "43c5cba1a15d0232"),
}
"""How a scenario is made of a seed, and the digest of those of the first seeds."""


@each("kind", MANY)
def test_seeds_make_the_scenarios_that_they_have_always_made(kind: str) -> None:
    make, expected = MANY[kind]
    assert digest(map(make, range(100))) == expected
