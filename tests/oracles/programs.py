"""How are small programs written, and put to the certified oracle?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from refgrad.operators import operator_table
from refgrad.oracles import Certified, CertifiedOracle
from refgrad.scenario import Constant, Scenario, parse

FEW_CANCEL = frozenset(
    name
    for name, row in operator_table().items()
    if row.family in {"elementwise", "broadcasting", "indexing", "products", "reductions", "shapes"}
)
"""Operators in whose graphs entries are seldom what is left of larger terms: no error is visible in rounding."""


def leaf(name: str, values: npt.ArrayLike, dtype: str = "float64", *, requires_grad: bool = True) -> str:
    """Return the line that makes a leaf."""
    constant = Constant.of(np.asarray(values, dtype=dtype))
    return f"{name} = leaf {constant.to_text()}{' requires_grad' if requires_grad else ''}\n"


def program(leaves: Mapping[str, npt.ArrayLike], lines: Sequence[str], output: str = "l") -> Scenario:
    """Return the scenario that makes the leaves, runs the lines and goes backward from the output."""
    made = "".join(leaf(name, values) for name, values in leaves.items())
    return parse(made + "".join(f"{line}\n" for line in lines) + f"backward {output}\n")


def certified_gradient(scenario: Scenario, name: str) -> Certified:
    """Return the certified gradient of a leaf after the scenario's only backward."""
    ((_, backward),) = scenario.backwards
    return CertifiedOracle(scenario).gradient(name, ((backward.output, backward.seed),))


def gradient_of(operator: str, *arrays: npt.ArrayLike, attributes: str = "") -> list[Certified]:
    """Return the certified gradients of the sum of one operator's entries."""
    names = [f"x{i}" for i in range(len(arrays))]
    made = dict(zip(names, arrays, strict=True))
    scenario = program(made, [f"y = {operator} {' '.join(names)} {attributes}", "l = sum y"])
    return [certified_gradient(scenario, name) for name in names]
