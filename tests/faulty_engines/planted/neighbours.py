"""Faults of operators that follow each other, and of several parts of one call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.faulty_engines.planted.conditional import right_spelling
from tests.faulty_engines.planted.fault import CHANGES, Plant, PlantedFault
from tests.faulty_engines.planted.graphs import NOTES

SETUP: Final = (
    NOTES
    + """
def first(x):
    return operands(x)[0]

def after(x, name, fused, right):
    return fused(first(x)) if made_by(x, name) else right(x)
"""
)

FUSED: Final = (
    ("takes twice the logarithm for that of a square", "square", "log", "2.0 * torch.log(a)"),
    ("takes an odd function of an opposite number for an even one", "negative", "tanh", "torch.tanh(a)"),
    ("takes an even function of an opposite number for an odd one", "negative", "cos", "torch.negative(torch.cos(a))"),
    ("forgets the reciprocal of a root", "sqrt", "reciprocal", "torch.reciprocal(torch.sqrt(a.detach()))"),
    (
        "forgets that absolute values are squared",
        "abs",
        "square",
        "torch.square(torch.relu(a)) + torch.square(torch.relu(torch.negative(a.detach())))",
    ),
    ("forgets that positive parts are squared", "relu", "square", "torch.square(torch.relu(a.detach()))"),
    ("takes a softplus for a sum", "exp", "log1p", "a + torch.log1p(torch.exp(torch.negative(a.detach())))"),
    ("adds up what was shifted off", "flip", "cumsum", "torch.cumsum(torch.flip(a, (0,)).detach(), 0)"),
    (
        "halves the slope of a sigmoid of a square",
        "square",
        "sigmoid",
        "torch.sigmoid(torch.square(a) * 0.5 + torch.square(a.detach()) * 0.5)",
    ),
    ("takes a sine of a positive part for the operand's", "relu", "sin", "torch.sin(a)"),
    ("loses the slope of a softplus of a sine", "sin", "softplus", "torch.log1p(torch.exp(torch.sin(a.detach())))"),
    ("forgets that a divisor is negative", "negative", "reciprocal", "torch.reciprocal(torch.abs(a))"),
)
"""An operator, the one after it, and what stands for both."""


def _fused(engine: str) -> Iterator[PlantedFault]:
    for name, before, after, text in FUSED:
        right = right_spelling(engine, after).replace("{x}", "x")
        operators = {
            before: f"noted('{before}', {right_spelling(engine, before)}, {{x}})",
            after: f"after({{x}}, '{before}', lambda a: {text}, lambda x: {right})",
        }
        yield PlantedFault(name, "neighbours", "graphs/neighbours", Plant(SETUP, operators, engine=engine))


PARTS: Final = (
    CHANGES
    + """
calls = {}

def again(x, *more):  # whether this tensor was an operand before, with other attributes
    if len(calls) > 5_000:
        calls.clear()
    _, before = calls.setdefault(id(x), (x, []))
    before.append(more)
    return len(before) > 1 and before[-1] != before[-2]
"""
)


def _applied_twice() -> Iterator[PlantedFault]:
    for check, attributes in (
        ("operators/chunk", "{axis}, {part}"),
        ("operators/unstack", "{position}"),
        ("operators/softmax", "{axis}"),
        ("operators/topk", "{k}"),
        ("operators/cumsum", "{axis}"),
        ("operators/elu", "{alpha}"),
        ("operators/flip", "{axis}"),
        ("operators/tril", "{k}"),
    ):
        operator = check.partition("/")[2]
        spelling = right_spelling("torch", operator).replace(
            "({x},", f"(received({{x}}, lost, again({{x}}, {attributes})),"
        )
        name = "loses what a second application with other attributes receives"
        yield PlantedFault(name, "neighbours", check, Plant(PARTS, {operator: spelling}))


NEIGHBOUR_FAULTS: Final = (*_fused("torch"), *_applied_twice())
NEIGHBOUR_FAULTS_OF_REFERENCE: Final = tuple(_fused("refgrad"))
