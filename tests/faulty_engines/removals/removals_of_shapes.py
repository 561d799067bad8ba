"""Rules about axes, shapes and places that can be taken out of the engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import numpy as np

from refgrad.engine.graph.node import Contributions, Node
from refgrad.engine.operators import contributions
from refgrad.engine.operators.vocabulary import node_name
from refgrad.operators import operator_table
from refgrad.operators.structures import sum_to
from tests.faulty_engines.rules.shape_faults import (
    along_first_axis,
    array_index,
    equal_parts,
    expanded_at_the_end,
    without_negative_steps,
    written_back,
)
from tests.faulty_engines.stateful.open_sweep import OpenSweep, sweeping
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

Region = AbstractContextManager[Any]
Change = Callable[[list[Any], Any, Any], list[Any]]


def averages() -> Region:
    """Where an operand was stretched, its gradient is the mean over the stretched axes."""

    def mean_to(operators: Any, x: Any, shape: Any) -> Any:
        return sum_to(operators, x, shape) * (np.prod(shape) / np.prod(x.shape))

    return patch.object(contributions, "sum_to", mean_to)


def rule(change: Change, *operators: str) -> Callable[[], Region]:
    """Return what makes a region in which rules send something else, made of what is right, cotangent and node."""
    names = {node_name(operator_table()[name]) for name in operators}

    class Ruled(OpenSweep):
        def contributions(self, node: Node, cotangent: Any) -> Contributions:
            right = super().contributions(node, cotangent)
            if self.recorded or node.name() not in names:
                return right
            changed = change([share for _, share in right], cotangent, node)
            return [(parent, np.asarray(share)[()]) for (parent, _), share in zip(right, changed, strict=True)]

    return sweeping(Ruled)


def of_matrices_only(right: list[Any], _: Any, node: Any) -> list[Any]:
    """Send vectors zeros."""
    return [share * (len(shape) > 1) for share, shape in zip(right, node.shapes, strict=True)]


REMOVALS_OF_SHAPES: tuple[StatefulFault, ...] = (
    StatefulFault("averages where it should undo broadcasting", "variant of nd4j#2424", averages),
    StatefulFault(
        "expands sums over several axes at the end",
        "harvard-edge/cs249r_book#1867",
        rule(lambda _, g, node: [expanded_at_the_end(node, g)], "sum"),
    ),
    StatefulFault(
        "divides means by the size of the whole array",
        "harvard-edge/cs249r_book#1867",
        rule(lambda right, g, _: [right[0] / g.size], "mean"),
    ),
    StatefulFault(
        "permutes axes back by the permutation itself",
        "generic: right for every permutation but cycles of three and more",
        rule(lambda _, g, node: [np.transpose(g, node.attributes["axes"])], "transpose"),
    ),
    StatefulFault(
        "overwrites what is read repeatedly",
        "tensorflow/tensorflow#7397",
        rule(lambda _, g, node: [written_back(node, array_index(node), g)], "index"),
    ),
    StatefulFault(
        "puts back in forward order what was read backwards",
        "generic: slices with negative steps",
        rule(lambda _, g, node: [without_negative_steps(node, g)], "index"),
    ),
    StatefulFault(
        "puts back along the first axis what was taken along another",
        "HIPS/autograd 747b48b",
        rule(lambda _, g, node: [along_first_axis(node, g)], "take"),
    ),
    StatefulFault(
        "cuts what it sends through a concatenation into equal parts",
        "tracel-ai/burn#402",
        rule(lambda right, g, node: equal_parts(node, right, g), "concatenate"),
    ),
    StatefulFault(
        "serves two operands of a concatenation or stack",
        "HIPS/autograd#242",
        rule(lambda right, _g, _: [*right[:2], *(share * 0 for share in right[2:])], "concatenate", "stack"),
    ),
    StatefulFault(
        "sends vectors nothing through products", "rank combinations of matmul", rule(of_matrices_only, "matmul")
    ),
)
