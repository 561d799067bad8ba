"""How is JAX driven? It differentiates functions of its own arrays, which are those of numpy in its spelling."""

from refgrad.adapters.jax_names import aliases
from refgrad.harness import FunctionalAdapter, spell

ADAPTER = FunctionalAdapter(
    name="jax",
    distribution="jax",
    setup="""
import math
import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import lax

jax.config.update("jax_enable_x64", True)

def as_index(index):
    return tuple(np.array(i, dtype=int) if isinstance(i, tuple) else i for i in index)

def truths(mask, shape=None):
    mask = np.array(mask, dtype=bool)
    if shape is None:
        return mask
    return np.broadcast_to(mask, shape) if math.prod(shape) else np.zeros(shape, dtype=bool)

def rows(x, axis, indices):  # JAX has no axis of a number
    if x.ndim == 0:
        raise NotImplementedError("an axis of a scalar")
    return (slice(None),) * (axis % x.ndim) + (np.array(indices, dtype=int),)

def lines(x, axis, indices):  # every entry has an index of its own along the axis
    indices = np.array(indices, dtype=int)
    if x.ndim == 0:
        raise NotImplementedError("an axis of a scalar")
    places = list(np.indices(indices.shape))
    places[axis] = indices
    return tuple(places)

def brought_together(x, index, source, reduce, include_self):
    ways = {"sum": "add", "prod": "multiply", "max": "max", "min": "min"}
    if reduce not in ways or not include_self:
        raise NotImplementedError(f"{reduce} without what is there")
    return getattr(x.at[index], ways[reduce])(source)

def put(x, indices, source, accumulate):
    if accumulate:
        return x.ravel().at[np.array(indices, dtype=int).ravel()].add(source.ravel()).reshape(x.shape)
    return jnp.put(x, np.array(indices, dtype=int), source, inplace=False)

def least_squares(x, y):
    if x.ndim > 2:
        raise NotImplementedError("stacks of matrices")
    return jnp.linalg.lstsq(x, y)[0]

def positive_qr(x):  # LAPACK leaves the signs of R's diagonal open
    q, r = jnp.linalg.qr(x)
    signs = jnp.sign(lax.stop_gradient(jnp.diagonal(r, axis1=-2, axis2=-1)))
    return q * signs[..., None, :], r * signs[..., None]

def attention(query, key, value, **more):  # JAX has the heads behind the places, and at most one more axis
    if query.ndim > 4 or value.shape[-1] != key.shape[-1]:
        raise NotImplementedError("two axes of heads, or values of another length than keys")
    if query.ndim == 2:
        return jax.nn.dot_product_attention(*(a[:, None] for a in (query, key, value)), **more)[:, 0]
    swapped = (jnp.swapaxes(a, -2, -3) for a in (query, key, value))
    return jnp.swapaxes(jax.nn.dot_product_attention(*swapped, **more), -2, -3)

def batched(function, x, axes):  # a batch is no choice in windows of JAX
    return function(x) if x.ndim == axes + 2 else function(x[None])[0]

def names(axes):
    return ("NCHW"[: axes + 2], "OIHW"[: axes + 2], "NCHW"[: axes + 2])

def convolution(x, weight, bias, strides, padding, dilation):
    axes, groups = len(strides), x.shape[-len(strides) - 1] // weight.shape[1]
    result = batched(lambda x: lax.conv_general_dilated(
        x, weight, strides, [(p, p) for p in padding], rhs_dilation=(dilation,) * axes,
        dimension_numbers=names(axes), feature_group_count=groups), x, axes)
    return result + bias.reshape(bias.shape + (1,) * axes)

def transposed_convolution(x, weight, bias, strides, padding, dilation, output_padding):
    axes, groups = len(strides), bias.shape[0] // weight.shape[1]
    kernel = jnp.flip(weight, tuple(range(2, axes + 2))).reshape(groups, -1, *weight.shape[1:])
    kernel = jnp.swapaxes(kernel, 1, 2).reshape(bias.shape[0], -1, *weight.shape[2:])
    reach = [dilation * (n - 1) for n in weight.shape[2:]]
    result = batched(lambda x: lax.conv_general_dilated(
        x, kernel, (1,) * axes, [(r - p, r - p + output_padding) for r, p in zip(reach, padding)],
        lhs_dilation=strides, rhs_dilation=(dilation,) * axes,
        dimension_numbers=names(axes), feature_group_count=groups), x, axes)
    return result + bias.reshape(bias.shape + (1,) * axes)

def borders(shape, sizes, strides, padding, dilation, ceil_mode):  # for windows that reach beyond the padding
    for n, size, stride, pad in zip(shape, sizes, strides, padding):
        room = n + 2 * pad - dilation * (size - 1) - 1
        count = -(-room // stride) if ceil_mode else room // stride
        count -= ceil_mode and count * stride >= n + pad
        yield pad, pad + max(count * stride - room, 0)

def reduced_windows(x, start, reduce, sizes, strides, padding, dilation=1, ceil_mode=False):
    ones = (1,) * (x.ndim - len(sizes))
    pads = borders(x.shape[len(ones):], sizes, strides, padding, dilation, ceil_mode)
    return lax.reduce_window(x, np.array(start, x.dtype), reduce, (*ones, *sizes), (*ones, *strides),
        [(0, 0) for _ in ones] + list(pads), window_dilation=(*ones, *(dilation for _ in sizes)))

def average_of_windows(x, sizes, strides, padding, ceil_mode, count_include_pad):
    total = reduced_windows(x, 0, lax.add, sizes, strides, padding, 1, ceil_mode)
    counts = np.ones(())
    for size, stride, pad, length, n in zip(sizes, strides, padding, x.shape[-len(sizes):], total.shape[-len(sizes):]):
        starts, beyond = np.arange(n) * stride - pad, pad * count_include_pad
        counts = counts[..., None] * (np.minimum(starts + size, length + beyond) - np.maximum(starts, -beyond))
    return total / counts.astype(x.dtype)
""",
    leaf="jnp.array({array}, dtype=jnp.{dtype})",
    vjp="jax.vjp({function}, *{primals})",
    jvp="jax.jvp({function}, tuple({primals}), tuple({tangents}))",
    seed="jnp.array({array}, dtype=jnp.{dtype})",
    nests=True,
    forget="jax.clear_caches()",
    inventory="refgrad.adapters.inventories.jax:inventories",
    aliases=aliases(),
    dtypes=("float64", "float32", "float16", "bfloat16"),
    alike=("jnp", "jax.nn", "jax.scipy.special"),
    unlike=frozenset({"ldexp"}),  # its exponents are integers
    operators=spell(
        "jnp",
        (
            "sum",
            "mean",
            "prod",
            "max",
            "min",
            "ptp",
            "matmul",
            "dot",
            "inner",
            "outer",
            "kron",
            "matvec",
            "vecdot",
            "cross",
            "transpose",
            "reshape",
            "expand_dims",
            "squeeze",
            "flip",
            "concatenate",
            "stack",
            "ravel",
            "fliplr",
            "flipud",
            "atleast_1d",
            "atleast_2d",
            "atleast_3d",
            "hstack",
            "vstack",
            "dstack",
            "column_stack",
            "cumsum",
            "cumprod",
            "roll",
            "swapaxes",
            "moveaxis",
            "rot90",
            "tril",
            "triu",
            "diag",
            "diff",
            "median",
            "quantile",
            "sort",
        ),
    )
    | spell("jax.nn", ("glu", "softmax", "log_softmax", "elu", "celu", "leaky_relu"))
    | {
        "gelu": "jax.nn.gelu({x}, approximate=False)",
        "gelu_tanh": "jax.nn.gelu({x}, approximate=True)",
        "softsign": "jax.nn.soft_sign({x})",
        "rsqrt": "lax.rsqrt({x})",
        "frac": "jnp.modf({x})[0]",
        "clip": "jnp.clip({x}, {lower}, {upper})",
        "lgamma": "jax.scipy.special.gammaln({x})",
        "mvlgamma": "jax.scipy.special.multigammaln({x}, {p})",
        "polygamma": "jax.scipy.special.polygamma({n}, {x})",
        "embedding": "jnp.take({weight}, np.array({indices}, dtype=int), axis=0)",
        "scaled_dot_product_attention": "attention({query}, {key}, {value}, is_causal={is_causal})",
        "masked_dot_product_attention": "attention({query}, {key}, {value}, mask={mask})",
        "standardize": "jax.nn.standardize({x}, axis={axis}, epsilon={eps})",
        "einsum": "jnp.einsum({subscripts}, {x}, {y})",
        "einsum_of_one": "jnp.einsum({subscripts}, {x})",
        "einsum_of_three": "jnp.einsum({subscripts}, {x}, {y}, {z})",
        "tensordot": "jnp.tensordot({x}, {y}, axes={axes})",
        "bmm": "lax.batch_matmul({x}, {y})",
        "multi_dot": "jnp.linalg.multi_dot([{x}, {y}, {z}])",
        "vander": "jnp.vander({x}, {columns}, {increasing})",
        "convolve": "jnp.convolve({x}, {y}, {mode})",
        "index": "{x}[as_index({index})]",
        "take": "jnp.take({x}, np.array({indices}, dtype=int), axis={axis})",
        "add_at": "jnp.zeros({shape}, {x}.dtype).at[as_index({index})].add({x})",
        "det": "jnp.linalg.det({x})",
        "logabsdet": "jnp.linalg.slogdet({x})[1]",
        "inv": "jnp.linalg.inv({x})",
        "solve": "jnp.linalg.solve({x}, {y})",
        "solve_vector": "jnp.linalg.solve({x}, {y})",
        "solve_triangular": "jax.scipy.linalg.solve_triangular({x}, {y}, lower=not {upper}, "
        "unit_diagonal={unitriangular})",
        "cholesky_gram": "jnp.linalg.cholesky({x} @ {x}.mT + jnp.eye({x}.shape[-2], dtype={x}.dtype))",
        "qr_q": "positive_qr({x})[0]",
        "qr_r": "positive_qr({x})[1]",
        "eigvalsh": "jnp.linalg.eigvalsh(({x} + {x}.mT) / 2)",
        "svdvals": "jnp.linalg.svdvals({x})",
        "matrix_exp": "jax.scipy.linalg.expm({x})",
        "integer_power": "{x} ** {n}",
        "matrix_power": "jnp.linalg.matrix_power({x}, {n})",
        "pinv": "jnp.linalg.pinv({x})",
        "trace": "jnp.trace({x}, {offset}, *{axes})",
        "lstsq": "least_squares({x}, {y})",
        "matrix_norm": "jnp.linalg.matrix_norm({x}, ord={order} if {order} in ('fro', 'nuc') else float({order}))",
        "pad": "jnp.pad({x}, {pad_width}, constant_values={value})",
        "constant_pad": "lax.pad({x}, np.array({value}, {x}.dtype), [(*width, 0) for width in {pad_width}])",
        "pad_by_copies": "jnp.pad({x}, {pad_width}, mode={mode})",
        "tile": "jnp.tile({x}, {reps})",
        "repeat": "jnp.repeat({x}, {repeats}, axis={axis})",
        "repeat_interleave": "jnp.repeat({x}, np.array({repeats}, dtype=int), axis={axis})",
        "diagonal": "jnp.diagonal({x}, {offset}, *{axes})",
        "flatten": "lax.collapse(jnp.atleast_1d({x}), {start_dim}, {end_dim} % max({x}.ndim, 1) + 1)",
        "squeeze_all": "jnp.squeeze({x})",
        "broadcast_to": "jnp.broadcast_to({x}, {shape})",
        "broadcast_arrays": "jnp.stack(jnp.broadcast_arrays(*{arrays}))",
        "meshgrid": "jnp.stack(jnp.meshgrid(*{arrays}, indexing={indexing}))",
        "block_diag": "jax.scipy.linalg.block_diag(*{arrays})",
        "array_split": "jnp.array_split({x}, {sections}, {axis})[{part}]",
        "split_at": "jnp.split({x}, list({points}), {axis})[{part}]",
        "unstack": "jnp.unstack({x}, axis={axis})[{position}]",
        "topk": "(lax.top_k({x}, {k}, axis={axis})[0] if {largest} else -lax.top_k(-{x}, {k}, axis={axis})[0])",
        "lower_median": "jnp.quantile({x}, 0.5, axis={axis}, method='lower', keepdims={keepdims})",
        "cummax": "lax.cummax({x}, {axis} % {x}.ndim)",
        "cummin": "lax.cummin({x}, {axis} % {x}.ndim)",
        "logcumsumexp": "lax.cumlogsumexp({x}, {axis} % {x}.ndim)",
        "trapezoid": "jnp.trapezoid({y}, {x}, axis={axis})",
        "take_along_axis": "jnp.take_along_axis({x}, np.array({indices}, dtype=int), {axis})",
        "gather": "{x}[lines({x}, {axis}, {indices})]",
        "index_select": "{x}[rows({x}, {axis}, {indices})]",
        "take_flat": "jnp.take({x}, np.array({indices}, dtype=int))",
        "select": "lax.index_in_dim({x}, {position}, {axis}, keepdims=False)",
        "narrow": "lax.slice_in_dim({x}, {start} % {x}.shape[{axis}] if {start} < 0 else {start}, "
        "({start} % {x}.shape[{axis}] if {start} < 0 else {start}) + {length}, axis={axis})",
        "compress": "jnp.compress(truths({condition}), {x}, axis={axis})",
        "masked_select": "jnp.broadcast_to({x}, np.broadcast_shapes({x}.shape, truths({mask}).shape))"
        "[truths({mask}, np.broadcast_shapes({x}.shape, truths({mask}).shape))]",
        "boolean_index": "{x}[truths({mask})]",
        "delete": "jnp.delete({x}, {position}, axis={axis})",
        "insert": "jnp.insert({x}, {position}, {value}, axis={axis})",
        "masked_fill": "jnp.where({mask}, {value}, {x})",
        "where_number": "jnp.where({condition}, {x}, {value})",
        "masked_nan_to_num": "jnp.nan_to_num({x} + jnp.where({mask}, jnp.nan, 0.0).astype({x}.dtype), nan={nan})",
        "nan_to_num": "jnp.nan_to_num({x}, nan={nan}, posinf={posinf}, neginf={neginf})",
        "times_argmax": "{x} * jnp.argmax({x}, axis={axis}, keepdims={axis} is not None).astype({x}.dtype)",
        "times_argmin": "{x} * jnp.argmin({x}, axis={axis}, keepdims={axis} is not None).astype({x}.dtype)",
        "index_fill": "{x}.at[rows({x}, {axis}, {indices})].set({value})",
        "scatter": "{x}.at[lines({x}, {axis}, {indices})].set({source})",
        "scatter_add": "{x}.at[lines({x}, {axis}, {indices})].add({source})",
        "scatter_reduce": "brought_together({x}, lines({x}, {axis}, {indices}), {source}, {reduce}, {include_self})",
        "index_add": "{x}.at[rows({x}, {axis}, {indices})].add({alpha} * {source})",
        "index_copy": "{x}.at[rows({x}, {axis}, {indices})].set({source})",
        "index_reduce": "brought_together({x}, rows({x}, {axis}, {indices}), {source}, {reduce}, {include_self})",
        "index_put": "({x}.at[np.array({indices}, dtype=int)].add({source}) if {accumulate} else "
        "{x}.at[np.array({indices}, dtype=int)].set({source}))",
        "set_at": "{x}.at[as_index({index})].set({source})",
        "put": "put({x}, {indices}, {source}, {accumulate})",
        "masked_scatter": "{x}.at[truths({mask}, {x}.shape)].set({source}.ravel()[:truths({mask}, {x}.shape).sum()])",
        "slice_scatter": "{x}.at[(slice(None),) * ({axis} % {x}.ndim) + (slice({start}, None, {step}),)].set({source})",
        "select_scatter": "{x}.at[(slice(None),) * ({axis} % {x}.ndim) + ({position},)].set("
        "lax.index_in_dim({source}, 0, {axis}, keepdims=False))",
        "var": "jnp.var({x}, axis={axis}, correction={correction}, keepdims={keepdims})",
        "std": "jnp.std({x}, axis={axis}, correction={correction}, keepdims={keepdims})",
        "logsumexp": "jax.scipy.special.logsumexp({x}, axis={axis}, keepdims={keepdims})",
        "l1_norm": "jnp.linalg.vector_norm({x}, ord=1, axis={axis}, keepdims={keepdims})",
        "l2_norm": "jnp.linalg.vector_norm({x}, ord=2, axis={axis}, keepdims={keepdims})",
        "max_norm": "jnp.linalg.vector_norm({x}, ord=jnp.inf, axis={axis}, keepdims={keepdims})",
        "vector_norm": "jnp.linalg.vector_norm({x}, ord={order}, axis={axis}, keepdims={keepdims})",
        "average": "jnp.average({x}, axis={axis}, weights={weights})",
        "cov": "jnp.cov({x}, ddof={correction})",
        "corrcoef": "jnp.corrcoef({x})",
        "conv1d": "convolution({x}, {weight}, {bias}, ({stride},), ({padding},), {dilation})",
        "conv2d": "convolution({x}, {weight}, {bias}, ({stride_h}, {stride_w}), ({padding_h}, {padding_w}), "
        "{dilation})",
        "conv_transpose1d": "transposed_convolution({x}, {weight}, {bias}, ({stride},), ({padding},), {dilation}, "
        "{output_padding})",
        "conv_transpose2d": "transposed_convolution({x}, {weight}, {bias}, ({stride_h}, {stride_w}), "
        "({padding_h}, {padding_w}), {dilation}, {output_padding})",
        "im2col": "lax.conv_general_dilated_patches({x}[None], ({height}, {width}), ({stride_h}, {stride_w}), "
        "[({padding_h},) * 2, ({padding_w},) * 2], rhs_dilation=({dilation},) * 2)[0]"
        ".reshape({x}.shape[0] * {height} * {width}, -1)",
        "max_pool1d": "reduced_windows({x}, -jnp.inf, lax.max, ({size},), ({stride},), ({padding},), {dilation}, "
        "{ceil_mode})",
        "max_pool2d": "reduced_windows({x}, -jnp.inf, lax.max, ({height}, {width}), ({stride_h}, {stride_w}), "
        "({padding_h}, {padding_w}), {dilation}, {ceil_mode})",
        "avg_pool1d": "average_of_windows({x}, ({size},), ({stride},), ({padding},), {ceil_mode}, {count_include_pad})",
        "avg_pool2d": "average_of_windows({x}, ({height}, {width}), ({stride_h}, {stride_w}), "
        "({padding_h}, {padding_w}), {ceil_mode}, {count_include_pad})",
    },
)
