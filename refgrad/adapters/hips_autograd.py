"""How is HIPS autograd driven? It differentiates functions of numpy code."""

from refgrad.harness import FunctionalAdapter, spell

ADAPTER = FunctionalAdapter(
    name="autograd",
    distribution="autograd",
    setup="""
import math
import autograd
import autograd.numpy as np
import autograd.scipy.signal
from autograd.scipy import special

def vjp(function, primals):
    pullback, output = autograd.make_vjp(function, tuple(range(len(primals))))(*primals)
    return output, pullback

def jvp(function, primals, tangents):
    return autograd.make_jvp(lambda both: function(*both))(tuple(primals))(tuple(tangents))

def as_index(index):
    return tuple(np.array(i) if isinstance(i, tuple) else i for i in index)

def flattened(x, axis):  # norms take one axis, or a matrix
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(a % x.ndim for a in axes)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    kept = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    size = math.prod(x.shape[a] for a in axes)
    return np.reshape(np.transpose(x, rest + axes), (*[x.shape[a] for a in rest], size)), kept

def l2_norm(x, axis, keepdims):
    flat, kept = flattened(x, axis)
    length = np.linalg.norm(flat, axis=-1)
    return np.reshape(length, kept) if keepdims else length
""",
    leaf="{array}",
    vjp="vjp({function}, {primals})",
    jvp="jvp({function}, {primals}, {tangents})",
    nests=True,
    dtypes=("float64", "float32", "float16"),
    aliases={
        "add": ("{x} + {y}",),
        "subtract": ("{x} - {y}",),
        "multiply": ("{x} * {y}",),
        "divide": ("{x} / {y}",),
        "power": ("{x} ** {y}",),
        "remainder": ("{x} % {y}",),
        "negative": ("-{x}",),
        "abs": ("abs({x})", "np.fabs({x})"),
        "square": ("{x} ** 2",),
        "reciprocal": ("1 / {x}", "{x} ** -1.0"),
        "digamma": ("special.psi({x})",),
        "i0": ("special.iv(0, {x})",),
        "i1": ("special.iv(1, {x})",),
        "clip": ("{x}.clip({lower}, {upper})",),
        "matmul": ("{x} @ {y}",),
        "max": ("np.amax({x}, axis={axis}, keepdims={keepdims})", "{x}.max(axis={axis}, keepdims={keepdims})"),
        "min": ("np.amin({x}, axis={axis}, keepdims={keepdims})", "{x}.min(axis={axis}, keepdims={keepdims})"),
        "sum": ("{x}.sum(axis={axis}, keepdims={keepdims})",),
        "mean": ("{x}.mean(axis={axis}, keepdims={keepdims})",),
        "prod": ("{x}.prod(axis={axis}, keepdims={keepdims})",),
        "var": ("{x}.var(axis={axis}, ddof={correction}, keepdims={keepdims})",),
        "std": ("{x}.std(axis={axis}, ddof={correction}, keepdims={keepdims})",),
        "cumsum": ("{x}.cumsum(axis={axis})",),
        "reshape": ("{x}.reshape({shape})",),
        "transpose": ("{x}.transpose({axes})",),
        "squeeze": ("{x}.squeeze({axis})",),
        "ravel": ("{x}.ravel()", "{x}.flatten()"),
        "repeat": ("{x}.repeat({repeats}, {axis})",),
        "swapaxes": ("{x}.swapaxes({axis1}, {axis2})",),
        "diagonal": ("{x}.diagonal({offset}, *{axes})",),
    },
    alike=("np",),
    unlike=frozenset({"ldexp"}),
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
        "integer_power": "{x} ** float({n})",
        "einsum": "np.einsum({subscripts}, {x}, {y})",
        "einsum_of_one": "np.einsum({subscripts}, {x})",
        "einsum_of_three": "np.einsum({subscripts}, {x}, {y}, {z})",
        "dot": "np.dot({x}, {y})",
        "inner": "np.inner({x}, {y})",
        "outer": "np.outer({x}, {y})",
        "tensordot": "np.tensordot({x}, {y}, {axes})",
        "kron": "np.kron({x}, {y})",
        "cross": "np.cross({x}, {y}, axis={axis})",
        "convolve": "autograd.scipy.signal.convolve({x}, {y}, mode={mode})",
        "det": "np.linalg.det({x})",
        "logabsdet": "np.linalg.slogdet({x})[1]",
        "inv": "np.linalg.inv({x})",
        "solve": "np.linalg.solve({x}, {y})",
        "solve_vector": "np.linalg.solve({x}, {y})",
        "cholesky_gram": "np.linalg.cholesky(np.matmul({x}, np.swapaxes({x}, -1, -2)) "
        "+ np.eye({x}.shape[-2], dtype={x}.dtype))",
        "eigvalsh": "np.linalg.eigh(({x} + np.swapaxes({x}, -1, -2)) / 2)[0]",
        "svdvals": "np.linalg.svd({x}, compute_uv=False)",
        "pinv": "np.linalg.pinv({x})",
        "trace": "np.trace(np.moveaxis({x}, {axes}, (0, 1)), {offset})",
        "clip": "np.clip({x}, {lower}, {upper})",
        "erf": "special.erf({x})",
        "erfc": "special.erfc({x})",
        "erfinv": "special.erfinv({x})",
        "lgamma": "special.gammaln({x})",
        "digamma": "special.digamma({x})",
        "polygamma": "special.polygamma({n}, {x}).astype({x}.dtype)",
        "mvlgamma": "special.multigammaln({x}, {p}).astype({x}.dtype)",
        "i0": "special.i0({x})",
        "i1": "special.i1({x})",
        "logit": "special.logit({x})",
        "sigmoid": "special.expit({x})",
        "i0e": "special.ive(0, {x})",
        "i1e": "special.ive(1, {x})",
        "reshape": "np.reshape({x}, {shape})",
        "broadcast_to": "np.broadcast_to({x}, {shape})",
        "var": "np.var({x}, axis={axis}, ddof={correction}, keepdims={keepdims})",
        "std": "np.std({x}, axis={axis}, ddof={correction}, keepdims={keepdims})",
        "l2_norm": "l2_norm({x}, {axis}, {keepdims})",
        "logsumexp": "np.reshape(special.logsumexp({x}, axis={axis}), "
        "np.sum({x}, axis={axis}, keepdims={keepdims}).shape)",  # SciPy keeps an axis that a number does not have
        "cumsum": "np.cumsum({x}, axis={axis})",
        "diff": "np.diff({x}, {n}, axis={axis})",
        "index": "{x}[as_index({index})]",
        "pad": "np.pad({x}, {pad_width}, 'constant', constant_values={value})",
        "tile": "np.tile({x}, {reps})",
        "repeat": "np.repeat({x}, {repeats}, {axis})",
        "roll": "np.roll({x}, {shift}, {axis})",
        "moveaxis": "np.moveaxis({x}, {source}, {destination})",
        "swapaxes": "np.swapaxes({x}, {axis1}, {axis2})",
        "rot90": "np.rot90({x}, {k}) if {axes} == (0, 1) else np.rot90({x}, {k}, {axes})",
        "fliplr": "np.fliplr({x})",
        "flipud": "np.flipud({x})",
        "diagonal": "np.diagonal({x}, {offset}, *{axes})",
        "diag": "np.diag({x}, {k})",
        "tril": "np.tril({x}, {k})",
        "triu": "np.triu({x}, {k})",
        "ravel": "np.ravel({x})",
        "squeeze_all": "np.squeeze({x})",
        "atleast_1d": "np.atleast_1d({x})",
        "atleast_2d": "np.atleast_2d({x})",
        "atleast_3d": "np.atleast_3d({x})",
        "hstack": "np.hstack({arrays})",
        "vstack": "np.vstack({arrays})",
        "dstack": "np.dstack({arrays})",
        "column_stack": "np.column_stack({arrays})",
        "array_split": "np.array_split({x}, {sections}, {axis})[{part}]",
        "split_at": "np.split({x}, list({points}), {axis})[{part}]",
        "boolean_index": "{x}[np.array({mask}, dtype=bool)]",
        "where_number": "np.where({condition}, {x}, {value})",
        "masked_nan_to_num": "np.nan_to_num({x} + np.where({mask}, np.nan, 0.0).astype({x}.dtype)) "
        "+ np.where({mask}, {nan}, 0.0).astype({x}.dtype)",
        "times_argmax": "{x} * np.argmax({x}, axis={axis}, keepdims={axis} is not None).astype({x}.dtype)",
        "times_argmin": "{x} * np.argmin({x}, axis={axis}, keepdims={axis} is not None).astype({x}.dtype)",
        "take": "{x}[(slice(None),) * ({axis} % {x}.ndim) + (np.array({indices}, dtype=int),)]",
    },
)
