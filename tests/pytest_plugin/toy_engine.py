"""The engine that the tests of the front ends grade: a tape of scalars in a few lines, broken in many ways."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

MODULE: Final = """
import os
import time

class Value:
    made = 0
    def __init__(self, data, parents=(), needs=True):
        self.data, self.grad, self.number = data, 0.0, Value.made
        self.parents = [(parent, partial) for parent, partial in parents if parent.needs]
        self.needs = needs and (not parents or bool(self.parents))
        Value.made += 1
    def backward(self):
        sent, waiting = {self: 0.0}, [self]
        for value in waiting:
            found = [parent for parent, _ in value.parents if parent not in sent]
            waiting += dict.fromkeys(found)
            sent.update(dict.fromkeys(found, 0.0))
        sent[self] = 1.0
        for value in sorted(sent, key=lambda value: -value.number):
            value.grad += sent[value]
            for parent, partial in value.parents:
                sent[parent] += sent[value] * partial

def add(x, y): return Value(x.data + y.data, [(x, 1.0), (y, 1.0)])
def multiply(x, y): return Value(x.data * y.data, [(x, y.data), (y, x.data)])
def lopsided(x, y): return Value(x.data * y.data, [(x, y.data), (y, 2 * x.data)])
def relu(x, slope=1.0): return Value(max(x.data, 0.0), [(x, slope * (x.data > 0))])
def slowly(x, y):
    time.sleep(0.003)
    return add(x, y)
def shout(x, y): raise ValueError("\\x1b[31m\\ud800\\u202e" + 1_000_000 * "loud ")
def leave(x): raise SystemExit("bye")
def die(x): os._exit(3)
def forget(x):
    x.grad = 0.0
    for parent, _ in x.parents:
        forget(parent)
    return x

def adapter(name, setup="import toy", backward="{output}.backward()", **operators):
    from refgrad import Policy, TapeAdapter  # here, because the engine's process does not need them
    return TapeAdapter(
        name=name, setup=setup, backward=backward,
        leaf="toy.Value({scalar})", constant="toy.Value({scalar}, needs=False)",
        value="{x}.data", gradient="{leaf}.grad", zero_grad="setattr({leaf}, 'grad', 0.0)",
        operators={"add": "toy.add({x}, {y})", "multiply": "toy.multiply({x}, {y})"} | operators,
        scalars_only=True, policy=Policy(frees="never", implicit_seed="ones", keeps="all"),
        lacks=frozenset({"error:no-graph"}),
    )

ADAPTERS = {
    "RIGHT": dict(relu="toy.relu({x})"),
    "WRONG": dict(multiply="toy.lopsided({x}, {y})", relu="toy.relu({x}, 2.0)", square="toy.leave({x})"),
    "FORGETFUL": dict(backward="toy.forget({output}).backward()"),
    "DEADLY": dict(tan="toy.die({x})"),
    "FRAIL": dict(negative="toy.die({x})"),
    "SUDDEN": dict(multiply="toy.die({x})"),
    "SLOW": dict(add="toy.slowly({x}, {y})"),
    "LOUD": dict(add="toy.shout({x}, {y})"),
    "ABSENT": dict(setup="import no_such_library"),
    "STILLBORN": dict(setup="import os; os._exit(1)"),
}
def __getattr__(name):
    if name not in ADAPTERS:
        raise AttributeError(name)
    return adapter(name.lower(), **ADAPTERS[name])

NOT_AN_ADAPTER = 3
"""


def write_toy_engine(folder: Path) -> None:
    """Write the module ``toy`` into a folder; its adapters are named like ``toy:RIGHT``."""
    (folder / "toy.py").write_text(MODULE, encoding="utf-8")


def import_toy_engine(patch: pytest.MonkeyPatch) -> None:
    """Have the module ``toy`` imported in this process, from which adapters are taken without starting another one."""
    patch.setitem(sys.modules, "toy", _toy())


@cache
def _toy() -> ModuleType:
    module = ModuleType("toy")
    exec(MODULE, vars(module))
    return module
