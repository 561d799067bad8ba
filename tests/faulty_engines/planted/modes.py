"""Faults of forward mode, of one mode over another, and of high orders."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tests.faulty_engines.planted.conditional import LEVELS, SETUPS, right_spelling, where
from tests.faulty_engines.planted.fault import Plant, PlantedFault
from tests.faulty_engines.planted.graphs import NOTES

_forward = partial(
    where,
    kind="modes over modes",
    setup=LEVELS
    + """
def moves(x):
    return torch.autograd.forward_ad.unpack_dual(unwrapped(x)).tangent is not None

def unwrapped(x):
    while torch._C._functorch.is_functorch_wrapped_tensor(x):
        x = torch._C._functorch.get_unwrapped(x)
    return x

def tangent(x):
    return torch.autograd.forward_ad.unpack_dual(unwrapped(x)).tangent

def received(x, factor, when=True):
    return fixed(x) + factor * (x - fixed(x)) if when else x

lost, more = 0.0, 1.5
""",
)

REVERSED: Final = "in reverse over forward mode", "['Grad', 'Jvp']"
PUSHED: Final = "in forward over reverse mode", "['Jvp', 'Grad']"
TWICE: Final = "in forward over forward mode", "['Jvp', 'Jvp']"


def _mixed() -> Iterator[PlantedFault]:
    for operator, (words, modes) in (
        ("sin", PUSHED),
        ("sin", REVERSED),
        ("sin", TWICE),
        ("matmul", PUSHED),
        ("softmax", REVERSED),
        ("cumsum", TWICE),
        ("logsumexp", PUSHED),
        ("divide", TWICE),
    ):
        check = f"mixed_modes/{operator}"
        spelling = right_spelling("torch-func", operator).replace("{x}", f"bent({{x}}, 2, modes() == {modes})")
        plant = Plant(SETUPS["torch-func"], {operator: spelling}, engine="torch-func")
        yield PlantedFault(f"has another second derivative {words}", "modes over modes", check, plant)


def _of_order(order: int, operator: str, check: str = "") -> PlantedFault:
    spelling = right_spelling("torch", operator).replace("{x}", f"bent({{x}}, {order})")
    return PlantedFault(
        f"has another derivative of order {order}{f' of {operator}' if check else ''}",
        "modes over modes",
        check or f"third_order/{operator}",
        Plant(LEVELS, {operator: spelling}),
    )


def _in_graphs(name: str, check: str = "graphs/forward_mode", **operators: str) -> PlantedFault:
    setup = (
        NOTES
        + LEVELS
        + """
def received(x, factor, when=True):
    return fixed(x) + factor * (x - fixed(x)) if when else x

def forward():
    return modes() == ["Jvp"]
"""
    )
    return PlantedFault(name, "modes over modes", check, Plant(setup, operators))


MODE_FAULTS: Final = (
    _forward(
        "pushes the tangent of one operand alone",
        "forward_mode/multiply",
        "modes() == ['Jvp'] and stands_still({y})",
    ),
    _forward(
        "pushes another tangent along a middle axis", "forward_mode/cumsum", "modes() == ['Jvp'] and {x}.ndim > 2"
    ),
    _forward(
        "pushes half a tangent through stacks of matrices", "forward_mode/matmul", "modes() == ['Jvp'] and {x}.ndim > 2"
    ),
    _forward(
        "pushes tangents through the largest entry alone", "forward_mode/logsumexp", "modes() == ['Jvp'] and {keepdims}"
    ),
    _forward(
        "pushes no tangent where weights stand still",
        "forward_mode/layer_norm",
        "modes() == ['Jvp'] and stands_still({weight})",
        change="lost",
    ),
    _forward(
        "pushes the tangent of a bias alone twice",
        "forward_mode/linear",
        "modes() == ['Jvp'] and stands_still({x}) and stands_still({weight})",
        operand="bias",
        change="2.0",
    ),
    _in_graphs(
        "pushes a result's tangent to its first use alone",
        sin="noted('sin', torch.sin({x}), {x})",
        multiply="torch.multiply(received({x}, 0.0, forward() and made_by({x}, 'sin') and uses({x}) == 2), {y})",
    ),
    _in_graphs(
        "pushes no tangent beside a constant",
        "forward_mode/add",
        add="torch.add(received({x}, 0.0, forward() and stands_still({y})), {y})",
    ),
    _in_graphs(
        "doubles the tangent of a product with itself",
        "forward_mode/multiply",
        multiply="torch.multiply(received({x}, 2.0, forward() and {x} is {y}), {y})",
    ),
    _in_graphs(
        "pushes no tangent of a sine to a sum with a cosine",
        sin="noted('sin', torch.sin({x}), {x})",
        cos="noted('cos', torch.cos({x}), {x})",
        square="noted('square', torch.square({x}), {x})",
        add="torch.add({x}, received({y}, 0.0, forward() and made_by({x}, 'square') and made_by({y}, 'square')))",
    ),
    *_mixed(),
    _of_order(3, "tanh"),
    _of_order(3, "matmul"),
    _of_order(3, "softmax"),
    _of_order(3, "logsumexp"),
    *(_of_order(4, name, "higher_order/orders_go_on") for name in ("multiply", "tanh", "divide", "exp")),
)
