"""Faults that show in graphs alone: each operator is right by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.faulty_engines.planted.fault import Plant, PlantedFault

NOTES: Final = """
import sys
notes = {}  # of each result: itself, so that no identity comes back, its operator, its operands, its level, its uses

def noted(name, result, *operands):
    if len(notes) > 20_000:
        notes.clear()
    notes[id(result)] = [result, name, operands, 1 + max(map(level, operands)), 0]
    return result

def level(x):
    return notes[id(x)][3] if id(x) in notes else 0

def uses(x):  # this one included
    note = notes.setdefault(id(x), [x, "", (), 0, 0])
    note[4] += 1
    return note[4]

def made_by(x, name):
    return id(x) in notes and notes[id(x)][1] == name

def operands(x):
    return notes[id(x)][2]

def lost(x, when):
    return x.detach() if when else x

def add(x, y, is_lost):
    return noted("add", torch.add(lost(x, is_lost(x, y)), lost(y, is_lost(y, x))), x, y)

def multiply(x, y, is_lost):
    return noted("multiply", torch.multiply(lost(x, is_lost(x, y)), lost(y, is_lost(y, x))), x, y)

def never(x, y):
    return False

def once(name, function, x, y):
    for result, made_by, operands, _, _ in notes.values():
        if made_by == name and operands[0] is x and operands[1] is y:
            return result.detach()
    return noted(name, function(x, y), x, y)

def product_that_forgets(x, y):  # what has a name is held by the program, too
    return torch.multiply(lost(x, sys.getrefcount(x) < 4), y)
"""
"""What is known of results so far: a fault depends on where its operands come from."""

SINE: Final = "noted('sin', torch.sin({x}), {x})"
SUM: Final = "add({x}, {y}, %s)"
PRODUCT: Final = "multiply({x}, {y}, %s)"


def _planted(engine: str) -> Iterator[PlantedFault]:
    def fault(name: str, check: str, **operators: str) -> PlantedFault:
        return PlantedFault(name, "graphs", check, Plant(NOTES, operators, engine=engine))

    graphs, rewrites = "graphs/one_backward", "rewrites/rewritten_expressions"
    right = {"sin": SINE, "multiply": PRODUCT % "never"}
    yield fault(
        "loses an early result that is used again twelve levels later",
        graphs,
        add=SUM % "lambda x, y: level(y) - level(x) == 12",
        **right,
    )
    for count in (3, 9, 33, 257):
        product = PRODUCT % f"lambda x, y: made_by(x, 'sin') and uses(x) == {count}"
        yield fault(f"loses use {count} of a sine", graphs, add=SUM % "never", sin=SINE, multiply=product)
    yield fault(
        "loses what a sum of a sum and a product receives",
        "graphs/small",
        add=SUM % "lambda x, y: made_by(x, 'multiply') and made_by(y, 'add')",
        **right,
    )
    yield fault(
        "forgets a result that nobody holds",
        "graphs/small",
        multiply="product_that_forgets({x}, {y})",
    )
    yield fault(
        "takes the root of a square for its operand",
        rewrites,
        square="noted('square', torch.square({x}), {x})",
        sqrt="operands({x})[0] * 1.0 if made_by({x}, 'square') else torch.sqrt({x})",
    )
    yield fault(
        "adds the logarithms of factors",
        rewrites,
        multiply=PRODUCT % "never",
        log="sum(map(torch.log, operands({x}))) if made_by({x}, 'multiply') else torch.log({x})",
    )
    yield fault(
        "computes a product that it knows once, for a constant the second time",
        rewrites,
        multiply="once('multiply', torch.multiply, {x}, {y})",
    )


GRAPH_FAULTS: Final = tuple(_planted("torch"))
GRAPH_FAULTS_OF_REFERENCE: Final = tuple(_planted("refgrad"))
