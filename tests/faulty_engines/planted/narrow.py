"""Faults of half precision beyond the numbers that it can count, and of several dtypes."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.faulty_engines.planted.conditional import where
from tests.faulty_engines.planted.fault import CHANGES, Plant, PlantedFault

SETUP: Final = """
def is_half(x, most=0):
    return x.dtype == torch.float16 and x.numel() > most

def is_brain(x, most=0):
    return x.dtype == torch.bfloat16 and x.numel() > most

def saturated(most):  # counts up to most
    return lambda gradient, x: torch.clamp(gradient, -most, most)

def ties(x):
    return int((x == x.max()).sum()) if x.numel() else 0

def by_rounded_count(gradient, x):
    return gradient * 0.5

def mixes(x, y, narrow):
    return {x.dtype, y.dtype} == {narrow, torch.float32}

def in_half(gradient, x):
    return gradient.to(torch.float16).to(gradient.dtype)
"""

_narrow = partial(where, kind="narrow dtypes", setup=SETUP)
_plain = partial(where, kind="behind known failures")

NARROW_FAULTS: Final = (
    _narrow("adds up a bias's gradient to 2048", "half_precision/linear", "is_half({x}, 2048)", operand="bias"),
    _narrow("counts to 256 in bfloat16", "half_precision/mean", "is_brain({x}, 256)"),
    _narrow("counts to 2048 in float16", "half_precision/mean", "is_half({x}, 2048)"),
    _narrow("counts 256 entries of a variance in bfloat16", "half_precision/var", "is_brain({x}, 256)"),
    _narrow("counts 256 squares of a norm in bfloat16", "half_precision/l1_norm", "is_brain({x}, 256)"),
    _narrow("counts to 2048 in a largest entry", "half_precision/min", "is_half({x}, 2048)"),
    _narrow("counts 256 rows of a matrix in bfloat16", "half_precision/matvec", "is_brain({x}, 256)"),
    _narrow("counts 256 entries of a root in bfloat16", "half_precision/average", "is_brain({x}, 256)"),
    _narrow("counts 2048 rows of a matrix", "half_precision/outer", "is_half({x}, 2048)"),
    _narrow("counts 2048 squares of a norm", "half_precision/l2_norm", "is_half({x}, 2048)"),
    _narrow(
        "splits more than 256 ties of a maximum in bfloat16 by 256",
        "half_precision/max",
        "is_brain({x}, 256) and ties({x}) > 256",
        change="by_rounded_count",
    ),
    PlantedFault(
        "loses what float16 sends float32",
        "narrow dtypes",
        "graphs/mixed_float16",
        Plant(
            CHANGES + SETUP, {"multiply": "torch.multiply(received({x}, more, mixes({x}, {y}, torch.float16)), {y})"}
        ),
    ),
    PlantedFault(
        "loses what float32 sends bfloat16",
        "narrow dtypes",
        "graphs/mixed_bfloat16",
        Plant(CHANGES + SETUP, {"add": "torch.add({x}, received({y}, lost, mixes({x}, {y}, torch.bfloat16)))"}),
    ),
)

TWICE: Final = """
def received_again(x, change, when=True):
    return received(x, lambda gradient, x: received(gradient, change), when)
"""


def _twice(name: str, check: str, condition: str = "True", operand: str = "x") -> PlantedFault:
    fault = where(name, check, condition, kind="behind known failures", operand=operand, setup=TWICE)
    operators = {each: text.replace("received(", "received_again(") for each, text in fault.plant.operators.items()}
    return PlantedFault(name, fault.kind, check, Plant(fault.plant.setup, operators))


KNOWN_FAULTS: Final = (
    _twice("has another second derivative of what is inaccurate", "second_order/gelu"),
    _twice("has another second derivative of what is inaccurate", "second_order/ndtr"),
    _twice("has another second derivative of what is inaccurate", "second_order/bce_with_logits", operand="y"),
    _twice("has another second derivative of what is inaccurate", "second_order/celu"),
    _plain(
        "has another gradient in half precision of what is inaccurate",
        "half_precision/gelu",
        "{x}.dtype == torch.float16",
    ),
    _plain("loses small numbers of what is inaccurate", "half_precision/celu", "{x}.dtype == torch.bfloat16"),
    _plain(
        "loses infinities of what is inaccurate",
        "exceptional/gelu",
        "bool(torch.isinf({x}).any())",
        change="lambda g, x: g * 0 + 7",
    ),
)
