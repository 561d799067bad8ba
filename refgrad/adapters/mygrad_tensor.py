"""How is MyGrad driven? Its gradients are replaced, not added up, and a backward clears the graph."""

from refgrad.harness import TapeAdapter, spell
from refgrad.lifecycle import Policy

ADAPTER = TapeAdapter(
    name="mygrad",
    distribution="mygrad",
    setup="""
import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

def as_index(index):
    return tuple(np.array(i) if isinstance(i, tuple) else i for i in index)

def flattened(x, axis):  # norms take one axis, or a matrix
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(a % x.ndim for a in axes)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    kept = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    size = math.prod(x.shape[a] for a in axes)
    return mg.reshape(mg.transpose(x, *(rest + axes)), (*[x.shape[a] for a in rest], size)), kept

def l2_norm(x, axis, keepdims):
    flat, kept = flattened(x, axis)
    length = mg.linalg.norm(flat, axis=-1)
    return mg.reshape(length, kept) if keepdims else length
""",
    leaf="mg.tensor({array}, constant=not {requires_grad})",
    constant="{array}",
    value="np.asarray({x})",
    backward="{output}.backward({seed})",
    gradient="{leaf}.grad",
    dtypes=("float64", "float32", "float16"),
    zero_grad="{leaf}.null_grad()",
    alike=("mg", "activations"),
    unlike=frozenset({"sign", "floor", "ceil", "trunc", "remainder", "fmod"}),
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
        "einsum": "mg.einsum({subscripts}, {x}, {y})",
        "einsum_of_one": "mg.einsum({subscripts}, {x})",
        "einsum_of_three": "mg.einsum({subscripts}, {x}, {y}, {z})",
        "multi_dot": "mg.multi_matmul([{x}, {y}, {z}])",
        "clip": "mg.clip({x}, {lower}, {upper})",
        "elu": "activations.elu({x}, {alpha})",
        "leaky_relu": "activations.leaky_relu({x}, {negative_slope})",
        "hard_tanh": "activations.hard_tanh({x}, lower_bound={lower}, upper_bound={upper})",
        "reshape": "mg.reshape({x}, {shape})",
        "transpose": "mg.transpose({x}, *({axes} or ()))",
        "softmax": "activations.softmax({x}, axis={axis})",
        "log_softmax": "activations.logsoftmax({x}, axis={axis})",
        "glu": "activations.glu({x}, axis={axis})",
        "batch_norm": "batchnorm({x}, gamma={weight}, beta={bias}, eps={eps})",
        "var": "mg.var({x}, axis={axis}, ddof={correction}, keepdims={keepdims})",
        "std": "mg.std({x}, axis={axis}, ddof={correction}, keepdims={keepdims})",
        "l2_norm": "l2_norm({x}, {axis}, {keepdims})",
        "cumsum": "mg.cumsum({x}, axis={axis})",
        "cumprod": "mg.cumprod({x}, axis={axis})",
        "index": "{x}[as_index({index})]",
        "repeat": "mg.repeat({x}, {repeats}, {axis})",
        "repeat_interleave": "mg.repeat({x}, {repeats}, {axis})",
        "roll": "mg.roll({x}, {shift}, {axis})",
        "moveaxis": "mg.moveaxis({x}, {source}, {destination})",
        "swapaxes": "mg.swapaxes({x}, {axis1}, {axis2})",
        "ravel": "mg.ravel({x})",
        "squeeze_all": "mg.squeeze({x})",
        "atleast_1d": "mg.atleast_1d({x})",
        "atleast_2d": "mg.atleast_2d({x})",
        "atleast_3d": "mg.atleast_3d({x})",
        "boolean_index": "{x}[np.array({mask}, dtype=bool)]",
        "where_number": "mg.where({condition}, {x}, {value})",
        "take": "{x}[(slice(None),) * ({axis} % {x}.ndim) + (np.array({indices}, dtype=int),)]",
    },
    policy=Policy(frees="always", implicit_seed="ones"),
    lacks=frozenset({"accumulate", "error:no-graph", "error:seed-shape"}),
    errors={"freed-graph": "InvalidBackprop"},
)
