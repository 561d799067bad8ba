"""How is MyGrad driven? Its gradients are replaced, not added up, and a backward clears the graph."""

from refgrad.harness import TapeAdapter, spell
from refgrad.lifecycle import Policy

ADAPTER = TapeAdapter(
    name="mygrad",
    distribution="mygrad",
    setup="""
import numpy as np
import mygrad as mg
from mygrad.nnet import activations

def as_index(index):
    return tuple(np.array(i) if isinstance(i, tuple) else i for i in index)
""",
    leaf="mg.tensor({array}, constant=not {requires_grad})",
    constant="{array}",
    value="np.asarray({x})",
    backward="{output}.backward({seed})",
    gradient="{leaf}.grad",
    zero_grad="{leaf}.null_grad()",
    alike=("mg", "activations"),
    operators=spell(
        "mg",
        (
            "sum",
            "mean",
            "prod",
            "max",
            "min",
            "broadcast_to",
            "expand_dims",
            "squeeze",
            "concatenate",
            "stack",
            "matmul",
        ),
    )
    | {
        "clip": "mg.clip({x}, {lower}, {upper})",
        "reshape": "mg.reshape({x}, {shape})",
        "transpose": "mg.transpose({x}, *({axes} or ()))",
        "index": "{x}[as_index({index})]",
        "take": "{x}[(slice(None),) * ({axis} % {x}.ndim) + (np.array({indices}, dtype=int),)]",
    },
    policy=Policy(frees="always", implicit_seed="ones"),
    lacks=frozenset({"accumulate", "error:no-graph", "error:seed-shape"}),
    errors={"freed-graph": "InvalidBackprop"},
)
