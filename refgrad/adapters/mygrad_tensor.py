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

def place(find, x, axis):
    found = find(x, axis=axis)
    return (found if axis is None else np.expand_dims(found, axis)).astype(x.dtype)

def written(x, write):
    try:
        return write(x)
    except ValueError as error:
        if "read-only" in str(error):  # memory that a graph needs is guarded, until a backward has cleared that
            raise NotImplementedError(str(error)) from error
        raise
""",
    leaf="mg.tensor({array}, constant=not {requires_grad})",
    constant="{array} if {array}.dtype == bool else mg.tensor({array}, constant=True)",
    value="np.asarray({x})",
    backward="{output}.backward({seed})",
    gradient="{leaf}.grad",
    dtypes=("float64", "float32", "float16"),
    zero_grad="{leaf}.null_grad()",
    no_grad="mg.no_autodiff",  # what is computed in there may be constant or not: `constant` tells nothing of recording
    in_place={
        "add": "written({x}, lambda x: x.__iadd__({y}))",
        "multiply": "written({x}, lambda x: x.__imul__({y}))",
        "copy": "written({x}, lambda x: x.__setitem__(..., {y}))",
    },
    in_place_at={
        "add": "written({x}, lambda x: x.__setitem__({index}, x[{index}] + {y}))",
        "multiply": "written({x}, lambda x: x.__setitem__({index}, x[{index}] * {y}))",
        "copy": "written({x}, lambda x: x.__setitem__({index}, {y}))",
    },
    node="{x}",
    parents="[None if v.constant else v for v in {node}.creator.variables] if {node}.creator else []",
    aliases={
        "add": ("{x} + {y}", "mg.add_sequence({x}, {y})"),
        "subtract": ("{x} - {y}",),
        "multiply": ("{x} * {y}", "mg.multiply_sequence({x}, {y})"),
        "divide": ("{x} / {y}",),
        "power": ("{x} ** {y}",),
        "integer_power": ("mg.power({x}, {n})",),
        "negative": ("-{x}",),
        "square": ("{x} ** 2",),
        "reciprocal": ("1 / {x}", "{x} ** -1"),
        "matmul": ("{x} @ {y}",),
        "max": ("mg.amax({x}, axis={axis}, keepdims={keepdims})", "{x}.max(axis={axis}, keepdims={keepdims})"),
        "min": ("mg.amin({x}, axis={axis}, keepdims={keepdims})", "{x}.min(axis={axis}, keepdims={keepdims})"),
        "sum": ("{x}.sum(axis={axis}, keepdims={keepdims})",),
        "mean": ("{x}.mean(axis={axis}, keepdims={keepdims})",),
        "prod": ("{x}.prod(axis={axis}, keepdims={keepdims})",),
        "var": ("{x}.var(axis={axis}, ddof={correction}, keepdims={keepdims})",),
        "std": ("{x}.std(axis={axis}, ddof={correction}, keepdims={keepdims})",),
        "cumsum": ("{x}.cumsum(axis={axis})",),
        "cumprod": ("{x}.cumprod(axis={axis})",),
        "clip": ("{x}.clip({lower}, {upper})",),
        "reshape": ("{x}.reshape({shape})",),
        "ravel": ("{x}.ravel()", "{x}.flatten()"),
        "squeeze": ("{x}.squeeze({axis})",),
        "swapaxes": ("{x}.swapaxes({axis1}, {axis2})",),
        "moveaxis": ("{x}.moveaxis({source}, {destination})",),
    },
    alike=("mg", "activations"),
    unlike=frozenset({"sign", "floor", "ceil", "trunc", "remainder", "fmod", "floor_divide"}),
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
        "integer_power": "{x} ** {n}",
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
        "times_argmax": "{x} * place(mg.argmax, {x}, {axis})",
        "times_argmin": "{x} * place(mg.argmin, {x}, {axis})",
        "take": "{x}[(slice(None),) * ({axis} % {x}.ndim) + (np.array({indices}, dtype=int),)]",
    },
    policy=Policy(frees="connected", implicit_seed="ones", keeps="all", accumulates="replaces"),
    lacks=frozenset({
        "error:no-graph",
        "error:seed-shape",
        "error:leaf-in-place",
        "error:modified-in-place",
    }),
    errors={"freed-graph": "InvalidBackprop"},
)
