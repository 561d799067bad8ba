"""How is HIPS autograd driven? It differentiates functions of numpy code."""

from refgrad.harness import FunctionalAdapter, spell

SAME = (
    "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "arctan2", "logaddexp", "where", "negative",
    "abs", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "square", "reciprocal", "sin", "cos", "tan",
    "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sum", "mean", "prod", "max", "min",
    "transpose", "broadcast_to", "expand_dims", "squeeze", "concatenate", "stack", "matmul",
)  # fmt: skip

ADAPTER = FunctionalAdapter(
    name="autograd",
    distribution="autograd",
    setup="""
import autograd
import autograd.numpy as np

def vjp(function, primals):
    pullback, output = autograd.make_vjp(function, tuple(range(len(primals))))(*primals)
    return output, pullback

def as_index(index):
    return tuple(np.array(i) if isinstance(i, tuple) else i for i in index)
""",
    leaf="{array}",
    vjp="vjp({function}, {primals})",
    operators=spell("np", SAME)
    | {
        "clip": "np.clip({x}, {lower}, {upper})",
        "reshape": "np.reshape({x}, {shape})",
        "flip": "np.flip({x}, {axis})",
        "index": "{x}[as_index({index})]",
        "take": "{x}[(slice(None),) * ({axis} % {x}.ndim) + (np.array({indices}, dtype=int),)]",
    },
)
