"""How is HIPS autograd driven? It differentiates functions of numpy code."""

from refgrad.harness import FunctionalAdapter, spell

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
    nests=True,
    alike=("np",),
    operators=spell(
        "np",
        (
            "sum",
            "mean",
            "prod",
            "max",
            "min",
            "transpose",
            "expand_dims",
            "squeeze",
            "flip",
            "concatenate",
            "stack",
            "matmul",
        ),
    )
    | {
        "clip": "np.clip({x}, {lower}, {upper})",
        "reshape": "np.reshape({x}, {shape})",
        "broadcast_to": "np.broadcast_to({x}, {shape})",
        "index": "{x}[as_index({index})]",
        "take": "{x}[(slice(None),) * ({axis} % {x}.ndim) + (np.array({indices}, dtype=int),)]",
    },
)
