"""How is micrograd driven? It has scalars only, and every backward starts from one."""

from refgrad.harness import TapeAdapter
from refgrad.lifecycle import Policy

ADAPTER = TapeAdapter(
    name="micrograd",
    distribution="micrograd",
    setup="from micrograd.engine import Value",
    leaf="Value({scalar})",
    value="np.array({x}.data)",
    backward="{output}.backward()",
    gradient="{leaf}.grad",
    zero_grad="setattr({leaf}, 'grad', 0)",
    zero_grad_to_zeros="setattr({leaf}, 'grad', 0)",
    node="{x}",
    parents="list({node}._prev)",
    operators={
        "add": "{x} + {y}",
        "subtract": "{x} - {y}",
        "multiply": "{x} * {y}",
        "divide": "{x} / {y}",
        "negative": "-{x}",
        "relu": "{x}.relu()",
        "square": "{x} ** 2",
        "integer_power": "{x} ** {n}",
        "reciprocal": "{x} ** -1",
    },
    scalars_only=True,
    policy=Policy(frees="never", implicit_seed="ones", keeps="all"),
    lacks=frozenset({"error:no-graph"}),
)
