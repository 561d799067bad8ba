"""Faults of one operator that show under a condition on its operands and attributes, in any engine of Python's."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import Final

from refgrad.native.adapter import find_adapter
from refgrad.operators import operator_table
from tests.faulty_engines.planted.fault import CHANGES, Kind, Plant, PlantedFault

FACTORS: Final = """
lost, more = 0.0, 1.5

def received(x, factor, when=True):  # the same value, with another gradient
    return fixed(x) + factor * (x - fixed(x)) if when else x
"""

LEVELS: Final = """
def fixed(x):  # for the transformations of every level
    while torch._C._functorch.is_functorch_wrapped_tensor(x):
        x = torch._C._functorch.get_unwrapped(x)
    return torch.autograd.forward_ad.unpack_dual(x).primal.detach()

def stands_still(x):
    return not torch._C._functorch.is_functorch_wrapped_tensor(x)

def modes():  # the outermost first
    stack = torch._C._functorch.get_interpreter_stack() or []
    return [each.key().name for each in stack]

def bent(x, power=2, when=True):  # the same value, with another derivative of this order
    return x + 0.25 * (x - fixed(x)) ** power if when else x
"""

SETUPS: Final = MappingProxyType({
    "torch": CHANGES,
    "torch-func": LEVELS + FACTORS,
    "jax": "fixed = lax.stop_gradient" + FACTORS,
    "refgrad": "def fixed(x):\n    return x.detach()\n" + FACTORS,
})
"""What conditions and changes may use, by engine: ``received``, with the changes ``lost`` and ``more``."""

MODULES: Final = MappingProxyType({"torch": "torch", "torch-func": "torch", "jax": "jnp", "refgrad": "torch"})


@cache
def right_spelling(engine: str, operator: str) -> str:
    """Return how an engine spells an operator."""
    spelled = find_adapter(engine).operators.get(operator)
    row = operator_table()[operator]
    arguments = [f"{{{name}}}" for name in row.argument_names]
    more = [f"{each.name}={{{each.name}}}" for each in row.attributes]
    return spelled or f"{MODULES[engine]}.{operator}({', '.join([*arguments, *more])})"


def where(  # noqa: PLR0913 (a row of a table)
    name: str,
    check: str,
    condition: str = "True",
    *,
    kind: Kind,
    operand: str = "x",
    change: str = "more",
    setup: str = "",
    engine: str = "torch",
) -> PlantedFault:
    """Return the fault that an operand receives something else where the condition holds."""
    operator = check.partition("/")[2]
    right = right_spelling(engine, operator)
    spelling = right.replace(f"{{{operand}}}", f"received({{{operand}}}, {change}, {condition})")
    return PlantedFault(name, kind, check, Plant(SETUPS[engine] + setup, {operator: spelling}, engine=engine))
