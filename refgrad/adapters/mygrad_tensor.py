"""How is MyGrad driven? Its gradients are replaced, not added up, and a backward clears the graph."""

from refgrad.harness import TapeAdapter, spell
from refgrad.lifecycle import Policy

SAME = (
    "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "arctan2", "logaddexp", "where", "negative",
    "abs", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "square", "reciprocal", "sin", "cos", "tan",
    "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sum", "mean", "prod", "max", "min",
    "broadcast_to", "expand_dims", "squeeze", "concatenate", "stack", "matmul",
)  # fmt: skip

ADAPTER = TapeAdapter(
    name="mygrad",
    distribution="mygrad",
    setup="""
import numpy as np
import mygrad as mg
from mygrad.nnet.activations import relu, sigmoid

def as_index(index):
    return tuple(np.array(i) if isinstance(i, tuple) else i for i in index)
""",
    leaf="mg.tensor({array}, constant=not {requires_grad})",
    constant="{array}",
    value="np.asarray({x})",
    backward="{output}.backward({seed})",
    gradient="{leaf}.grad",
    zero_grad="{leaf}.null_grad()",
    operators=spell("mg", SAME)
    | {
        "clip": "mg.clip({x}, {lower}, {upper})",
        "relu": "relu({x})",
        "sigmoid": "sigmoid({x})",
        "reshape": "mg.reshape({x}, {shape})",
        "transpose": "mg.transpose({x}, *({axes} or ()))",
        "index": "{x}[as_index({index})]",
        "take": "{x}[(slice(None),) * ({axis} % {x}.ndim) + (np.array({indices}, dtype=int),)]",
    },
    policy=Policy(frees="always", implicit_seed="ones"),
    lacks=frozenset({"accumulate", "error:no-graph", "error:seed-shape"}),
    errors={"freed-graph": "InvalidBackprop"},
)
