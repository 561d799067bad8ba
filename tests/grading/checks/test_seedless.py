"""Weighting and summing an output gives the gradients that a seed gives, and a wrong product is no fault of others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from refgrad.generation import exceptional_positions, random_scenario
from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import check_named
from refgrad.grading.checks.isolation import without_seeds
from refgrad.grading.settings import Settings
from refgrad.lifecycle import Gradient, predict
from refgrad.native.adapter import TapeAdapter
from refgrad.native.engine import start
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Backward

TYPO = """
import numpy as np

class Node:
    def __init__(self, data, *parents):
        self.data, self.parents, self.grad = np.asarray(data), parents, 0.0

    def __add__(self, other):
        return Node(self.data + other.data, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other):  # whose rule was put under a name that is misspelled
        return Node(self.data * other.data)

    def exp(self):
        return Node(np.exp(self.data), (self, lambda g: g * np.exp(self.data)))

    def tanh(self):
        return Node(np.tanh(self.data), (self, lambda g: g * (1 - np.tanh(self.data))))

    def sum(self):
        return Node(self.data.sum(), (self, lambda g: np.broadcast_to(g, self.data.shape)))

    def backward(self, g=1.0):
        self.grad = self.grad + g
        for parent, rule in self.parents:
            parent.backward(rule(g))
"""
SEEDLESS = TapeAdapter(
    name="seedless",
    setup=TYPO,
    leaf="Node({array})",
    value="{x}.data",
    backward="{output}.backward()",
    gradient="{leaf}.grad",
    operators={
        "add": "{x} + {y} if {x}.data.shape == {y}.data.shape else (_ for _ in ()).throw(NotImplementedError())",
        "multiply": "{x} * {y}",
        "exp": "{x}.exp()",
        "tanh": "{x}.tanh()",
        "sum": "{x}.sum() if {axis} is None and not {keepdims} else (_ for _ in ()).throw(NotImplementedError())",
    },
)


@settings(max_examples=50)
@given(st.integers(0, 2**32))
def test_weights_replace_seeds(seed: int) -> None:
    scenario = random_scenario(seed)
    weighted = without_seeds(scenario)
    assert not any(isinstance(step, Backward) and step.seed is not None for step in weighted.steps)
    expected, actual = (
        [
            (p.leaf, CertifiedOracle(s).gradient(p.leaf, p.contributions).midpoint)
            for p in predict(s)
            if isinstance(p, Gradient)
        ]
        for s in (scenario, weighted)
    )
    assert len(expected) == len(actual)
    for (leaf, gradient), (other_leaf, other_gradient) in zip(expected, actual, strict=True):
        assert leaf == other_leaf
        np.testing.assert_allclose(gradient, other_gradient, rtol=1e-15, atol=0)


@given(st.integers(0, 2**32))
def test_without_weights_seeds_are_ones(seed: int) -> None:
    summed = without_seeds(random_scenario(seed), weighs=False)
    assert not any(isinstance(step, Backward) and step.seed is not None for step in summed.steps)
    assert summed.operators <= random_scenario(seed).operators | {"sum"}


def test_a_wrong_product_is_the_fault_of_nothing_that_would_be_weighted_by_it() -> None:
    bench = Bench(start(SEEDLESS), Settings("smoke", 0))
    found = {name: bench.grade(check_named(f"operators/{name}")) for name in SEEDLESS.operators}
    assert {name: verdict.verdict for name, verdict in found.items() if verdict.failed} == {
        "multiply": "wrong",
        "tanh": "wrong",
    }
    assert found["exp"].verdict == "passed"
    assert all(name in verdict.scenario for name, verdict in found.items() if verdict.failed)


def test_numbers_that_an_exercise_gets_from_a_wrong_product_are_not_judged() -> None:
    bench = Bench(start(SEEDLESS), Settings("smoke", 0))
    verdict = bench.grade(check_named("repetition/later_graphs_are_as_right_as_the_first"))
    assert (verdict.verdict, verdict.cause) == ("inconclusive", "operators/multiply")


def test_an_output_that_is_weighted_for_the_lack_of_seeds_can_be_weighted_again() -> None:
    for position in exceptional_positions("tanh"):
        weighted = replace(position, base=without_seeds(position.base))
        twice = weighted.differentiated_twice(weighted=True)
        assert len(twice.base.gradients) == 1
        assert sum(name.startswith("weighted") for name in twice.base.definitions) == 2
