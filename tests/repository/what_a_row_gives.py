"""What each part of refgrad makes of an elementwise operator of one argument, told of it by nothing but its row."""

from importlib import import_module
from typing import Any

import numpy as np

from refgrad.generation import Profile, operator_scenario, random_scenario
from refgrad.grading.judging.examination import examine
from refgrad.interpreter import Float64, evaluate
from refgrad.native.engine import Engine
from refgrad.operators import operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Scenario, parse
from tests.native.reference import ADAPTER

POINTS = (0.5, -1.25)


def what_a_row_gives(operator: str) -> dict[str, object]:
    """What can be seen of the operator in each part, as values that JSON can hold."""
    scenario = one_application(operator)
    certified = CertifiedOracle(scenario).gradient("x", (("loss", None),))
    reference = Engine(ADAPTER)
    return {
        "listed": operator in operator_table(),
        "value": evaluate(scenario, Float64())["y"].tolist(),
        "gradient": gradient_of_the_engine(operator),
        "certified": certified.midpoint.tolist(),
        "interval": float(np.max(certified.radius)),
        "spelled": operator in ADAPTER.operators,
        "drawn": operator in drawn_operators(operator),
        "verdict": examine(scenario, reference).outcome,
        "verdicts": sorted({examine(operator_scenario(seed, operator), reference).outcome for seed in range(5)}),
    }


def one_application(operator: str) -> Scenario:
    """The operator applied to two points, and everything that can be read of it."""
    numerals = " ".join(point.hex() for point in POINTS)
    return parse(f"""
x = leaf float64[2] {{{numerals}}} requires_grad
y = {operator} x
loss = sum y
backward loss
read value y
read grad x
""")


def gradient_of_the_engine(operator: str) -> list[float]:
    """The gradient of the sum over both points, as somebody writes it who has only `refgrad.engine`."""
    engine: Any = import_module("refgrad.engine")
    x = engine.tensor(list(POINTS), requires_grad=True)
    getattr(engine, operator)(x).sum().backward()
    return [float(entry) for entry in x.grad.numpy()]


def drawn_operators(operator: str) -> set[str]:
    """The operators of a few scenarios from the operator's own family and the sums that make losses of them."""
    family = operator_table()[operator].family
    names = {name for name, row in operator_table().items() if row.family == family} | {"sum"}
    profile = Profile(operators=frozenset(names), length=(20, 20))
    return {step.operator for seed in range(20) for step in random_scenario(seed, profile).applications}
