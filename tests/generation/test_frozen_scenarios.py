"""Tests that fixed seeds make the scenarios that they have always made: findings are told by seed."""

from collections.abc import Callable, Iterable
from hashlib import sha256

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


SAMPLE = (
    "concatenate",
    "conv1d",
    "gather",
    "index",
    "layer_norm",
    "matmul",
    "max",
    "pad",
    "power",
    "sort",
    "sum",
    "where",
)
"""Operators whose operands and attributes are chosen by most of the rules that there are."""

EVERY = Profile(operators=frozenset(SAMPLE))
NARROW = Profile(dtype="float32", wider="float64", edges=0.3, special=0.5, operators=frozenset(SAMPLE))
SCALARS = Profile(scalars_only=True, operators=frozenset(SAMPLE))

ALL_CASES: dict[str, tuple[Callable[[str], Iterable[Scenario]], str]] = {
    "fixed cases": (fixed_cases, "860dfee932505a18"),
    "fixed cases of float32": (lambda name: fixed_cases(name, NARROW, 12), "fa72734d55427315"),
    "fixed cases of scalars": (lambda name: fixed_cases(name, SCALARS), "8248e153b580ecef"),
    "plain cases": (lambda name: plain_cases(name, EVERY), "b56e7f46d7e111e6"),
    "second order": (lambda name: second_order_cases(name, EVERY, 6, weighted=None), "842949847b48888f"),
    "subsets of second order": (lambda name: subsets_of_second_order(name, EVERY, weighted=None), "32f15fb77abbfaa6"),
    "third order": (lambda name: third_order_cases(name, EVERY, 4), "3034e14ec5db7133"),
    "forward mode": (lambda name: forward_cases(name, EVERY), "719076e37ff0ac5e"),
    "views": (memory_scenarios, "fad267db77bbe5e2"),
    "views at second order": (
        lambda name: memory_scenarios_of_second_order(name, EVERY, weighted=None),
        "285cdacd2a468854",
    ),
    "contracts": (lambda name: contract_scenarios_of_ones(name, EVERY), "9df37e22499d2a89"),
    "operators applied twice": (applied_twice, "f858190ac563ca89"),
    "exceptional numbers": (
        lambda name: [each.holding(number) for each in exceptional_positions(name) for number in numbers_at(each)],
        "48609094384f54bd",
    ),
    "single operators": (lambda name: [operator_scenario(seed, name, NARROW) for seed in range(4)], "d9e4a1e0c863811d"),
    "edges": (
        lambda name: [edge_scenario(seed, name) for seed in range(2 * bool(operator_table()[name].edges))],
        "b6d5476df6acefc5",
    ),
    "orders and modes": (
        lambda name: [
            make(seed, name)
            for make in (second_order_scenario, third_order_scenario, contract_scenario, forward_scenario)
            for seed in range(2 * bool(operator_table()[name].differentiable_arguments))
        ],
        "add88b5a03adbd52",
    ),
}
"""How all scenarios of an operator are made, and the digest of those of the sample."""


def digest(scenarios: Iterable[Scenario]) -> str:
    return sha256("".join(scenario.id for scenario in scenarios).encode()).hexdigest()[:16]


@each("kind", ALL_CASES)
def test_an_operator_has_the_cases_that_it_has_always_had(kind: str) -> None:
    make, expected = ALL_CASES[kind]
    assert digest(scenario for name in SAMPLE for scenario in make(name)) == expected


def test_large_arrays_are_those_that_they_have_always_been() -> None:
    assert digest(scenario for name in SAMPLE[::4] for scenario in large_scenarios(name)) == "7e3be0ce65c78d51"


MANY: dict[str, tuple[Callable[[int], Scenario], str]] = {
    "random graphs": (lambda seed: random_scenario(seed, EVERY), "727ae86563eb68fd"),
    "random graphs of two dtypes": (lambda seed: random_scenario(seed, NARROW), "8c549af27b7237a4"),
    "random graphs of scalars": (lambda seed: random_scenario(seed, SCALARS), "536f7651aafefac6"),
    "lifecycles": (lifecycle_scenario, "e704d67eebcb7dd5"),
    "lifecycles of few features": (lambda seed: lifecycle_scenario(seed, FEW_FEATURES), "583dd0a6b6769cd5"),
    "double backwards": (lambda seed: double_backward_scenario(seed, EVERY), "fc8103adb15e4a0e"),
}
"""How a scenario is made of a seed, and the digest of those of the first seeds."""


@each("kind", MANY)
def test_seeds_make_the_scenarios_that_they_have_always_made(kind: str) -> None:
    make, expected = MANY[kind]
    assert digest(map(make, range(24))) == expected
