"""How is PyTorch driven?"""

from refgrad.adapters.pytorch_names import aliases
from refgrad.harness import TapeAdapter
from refgrad.lifecycle import Policy

PAIR = "*torch.broadcast_tensors({x}, {y})"
"""Losses do not broadcast, or only with a warning."""

ADAPTER = TapeAdapter(
    name="torch",
    distribution="torch",
    setup="""
import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def jvp(function, primals, tangents):
    with torch.no_grad():  # forward mode needs no recording
        return torch.func.jvp(function, tuple(primals), tuple(tangents))

def all_axes(x, axis):
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis

def signs(positive, x):
    return torch.where(positive, 1.0, -1.0).to(x.dtype)

def classes(target, x):
    return torch.tensor(target, dtype=torch.int64).reshape(x.shape[:1] * (x.ndim > 1) + x.shape[2:])

def product(x, axis, keepdims):  # torch.prod takes one axis at a time
    for a in sorted((a % x.ndim for a in all_axes(x, axis)), reverse=True):
        x = torch.prod(x, dim=a, keepdim=keepdims)
    return x

def flipped_steps(x, index):  # PyTorch has no negative steps: flip the axis and count from its other end
    index = tuple(torch.tensor(i) if isinstance(i, tuple) else i for i in index)
    axis, plain = 0, []
    for i in index:
        if isinstance(i, slice) and (i.step or 1) < 0:
            n = x.shape[axis]
            picked = range(n)[i]
            x = torch.flip(x, (axis,))
            i = slice(n - 1 - picked[0], n - picked[-1], -i.step) if len(picked) else slice(0, 0)
        plain.append(i)
        axis += 1
    return x[tuple(plain)]

def integers(indices):
    return torch.tensor(indices, dtype=torch.int64)

def truths(mask, shape=None):  # a mask without entries does not tell the lengths of its other axes
    mask = torch.tensor(mask, dtype=torch.bool)
    return mask if shape is None or mask.numel() else torch.zeros(shape, dtype=torch.bool)

def padded(x, pad_width, value):  # the last axis comes first
    return torch.nn.functional.pad(x, [n for pair in reversed(pad_width) for n in pair], value=value)

def bordered(x, pad_width, mode):  # the two axes in front stay as they are
    widths = [n for pair in reversed(pad_width) for n in pair]
    mode = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
    return torch.nn.functional.pad(x[None, None], widths, mode)[0, 0] if widths else x

def set_at(x, index, source):
    x = x.clone()
    x[tuple(torch.tensor(i) if isinstance(i, tuple) else i for i in index)] = source
    return x

def reduction(name):
    return {"max": "amax", "min": "amin"}.get(name, name)

def positive_qr(x):  # LAPACK leaves the signs of R's diagonal open
    q, r = torch.linalg.qr(x)
    signs = torch.sign(torch.diagonal(r.detach(), dim1=-2, dim2=-1))
    return q * signs.unsqueeze(-2), r * signs.unsqueeze(-1)
""",
    leaf="torch.tensor({array}, dtype=torch.{dtype}, requires_grad={requires_grad})",
    constant="torch.tensor({array}, dtype=torch.{dtype})",
    value="as_numpy({x}.detach())",
    value_dtype="{x}.dtype",
    backward="{output}.backward({seed}, retain_graph={retain_graph})",
    seed="torch.tensor({array}, dtype=torch.{dtype})",
    gradient="{leaf}.grad if {leaf}.grad is None else as_numpy({leaf}.grad.detach().clone())",
    gradient_dtype="getattr({leaf}.grad, 'dtype', None)",
    dtypes=("float64", "float32", "float16", "bfloat16"),
    policy=Policy(unrecorded_views="open"),
    zero_grad="setattr({leaf}, 'grad', None)",
    zero_grad_to_zeros="{leaf}.grad is None or {leaf}.grad.zero_()",
    detach="{x}.detach()",
    no_grad="torch.no_grad()",
    enable_grad="torch.enable_grad()",
    set_requires_grad="{x}.requires_grad_({requires_grad})",
    in_place={"add": "{x}.add_({y})", "multiply": "{x}.mul_({y})", "copy": "{x}.copy_({y})"},
    in_place_at={
        "add": "{x}[{index}].add_({y})",
        "multiply": "{x}[{index}].mul_({y})",
        "copy": "{x}.__setitem__({index}, {y})",
    },
    hook="{x}.register_hook({function})",
    unhook="{handle}.remove()",
    retain_grad="{x}.retain_grad()",
    requires_grad="{x}.requires_grad",
    is_leaf="{x}.is_leaf",
    recorded="{x}.grad_fn is not None",
    node="torch.autograd.graph.get_gradient_edge({x}).node",
    parents="[node for node, _ in {node}.next_functions]",
    grad="torch.autograd.grad({output}, {leaf}, {seed}, create_graph=True)[0]",
    jvp="jvp({function}, {primals}, {tangents})",
    aliases=aliases(),
    alike=("torch",),
    inventory="refgrad.adapters.inventories.pytorch:inventories",
    unlike=frozenset({"prelu"}),  # its weights are those of channels
    operators={
        "matmul": "torch.matmul({x}, {y})",
        "einsum": "torch.einsum({subscripts}, {x}, {y})",
        "einsum_of_one": "torch.einsum({subscripts}, {x})",
        "einsum_of_three": "torch.einsum({subscripts}, {x}, {y}, {z})",
        "dot": "torch.tensordot({x}, {y}, dims=([-1], [max({y}.ndim - 2, 0)]))",
        "vecdot": "torch.linalg.vecdot({x}, {y}, dim={axis})",
        "inner": "torch.inner({x}, {y})",
        "outer": "torch.outer({x}, {y})",
        "tensordot": "torch.tensordot({x}, {y}, dims={axes})",
        "kron": "torch.kron({x}, {y})",
        "cross": "torch.linalg.cross({x}, {y}, dim={axis})",
        "matvec": "torch.mv({x}, {y})",
        "bmm": "torch.bmm({x}, {y})",
        "multi_dot": "torch.linalg.multi_dot([{x}, {y}, {z}])",
        "addmm": "torch.addmm({z}, {x}, {y}, beta={beta}, alpha={alpha})",
        "addmv": "torch.addmv({z}, {x}, {y}, beta={beta}, alpha={alpha})",
        "addr": "torch.addr({z}, {x}, {y}, beta={beta}, alpha={alpha})",
        "addbmm": "torch.addbmm({z}, {x}, {y}, beta={beta}, alpha={alpha})",
        "baddbmm": "torch.baddbmm({z}, {x}, {y}, beta={beta}, alpha={alpha})",
        "linear": "torch.nn.functional.linear({x}, {weight}, {bias})",
        "bilinear": "torch.nn.functional.bilinear({x}, {y}, {weight}, {bias})",
        "vander": "torch.vander({x}, {columns}, {increasing})",
        "cdist": "torch.cdist({x}, {y}, {p})",
        "pairwise_distance": "torch.nn.functional.pairwise_distance({x}, {y}, {p}, {eps})",
        "conv1d": "torch.nn.functional.conv1d({x}, {weight}, {bias}, {stride}, {padding}, {dilation}, "
        "{x}.shape[-2] // {weight}.shape[1])",
        "conv2d": "torch.nn.functional.conv2d({x}, {weight}, {bias}, ({stride_h}, {stride_w}), "
        "({padding_h}, {padding_w}), {dilation}, {x}.shape[-3] // {weight}.shape[1])",
        "conv_transpose1d": "torch.nn.functional.conv_transpose1d({x}, {weight}, {bias}, {stride}, {padding}, "
        "{output_padding}, {bias}.shape[0] // {weight}.shape[1], {dilation})",
        "conv_transpose2d": "torch.nn.functional.conv_transpose2d({x}, {weight}, {bias}, ({stride_h}, {stride_w}), "
        "({padding_h}, {padding_w}), {output_padding}, {bias}.shape[0] // {weight}.shape[1], {dilation})",
        "im2col": "torch.nn.functional.unfold({x}, ({height}, {width}), {dilation}, ({padding_h}, {padding_w}), "
        "({stride_h}, {stride_w}))",
        "max_pool1d": "torch.nn.functional.max_pool1d({x}, {size}, {stride}, {padding}, {dilation}, {ceil_mode})",
        "max_pool2d": "torch.nn.functional.max_pool2d({x}, ({height}, {width}), ({stride_h}, {stride_w}), "
        "({padding_h}, {padding_w}), {dilation}, {ceil_mode})",
        "avg_pool1d": "torch.nn.functional.avg_pool1d({x}, {size}, {stride}, {padding}, {ceil_mode}, "
        "{count_include_pad})",
        "avg_pool2d": "torch.nn.functional.avg_pool2d({x}, ({height}, {width}), ({stride_h}, {stride_w}), "
        "({padding_h}, {padding_w}), {ceil_mode}, {count_include_pad})",
        "lp_pool1d": "torch.nn.functional.lp_pool1d({x}, {norm}, {size}, {stride})",
        "adaptive_avg_pool1d": "torch.nn.functional.adaptive_avg_pool1d({x}, {size})",
        "adaptive_avg_pool2d": "torch.nn.functional.adaptive_avg_pool2d({x}, ({height}, {width}))",
        "adaptive_max_pool1d": "torch.nn.functional.adaptive_max_pool1d({x}, {size})",
        "interpolate_nearest": "torch.nn.functional.interpolate({x}, {size}, mode='nearest')",
        "interpolate_linear": "torch.nn.functional.interpolate({x}, {size}, mode='linear', "
        "align_corners={align_corners})",
        "det": "torch.linalg.det({x})",
        "logabsdet": "torch.linalg.slogdet({x}).logabsdet",
        "logdet": "torch.logdet({x})",
        "inv": "torch.linalg.inv({x})",
        "solve": "torch.linalg.solve({x}, {y})",
        "solve_vector": "torch.linalg.solve({x}, {y})",
        "solve_triangular": "torch.linalg.solve_triangular({x}, {y}, upper={upper}, unitriangular={unitriangular})",
        "cholesky_gram": "torch.linalg.cholesky({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype))",
        "qr_q": "positive_qr({x})[0]",
        "qr_r": "positive_qr({x})[1]",
        "eigvalsh": "torch.linalg.eigvalsh(({x} + {x}.mT) / 2)",
        "svdvals": "torch.linalg.svdvals({x})",
        "matrix_exp": "torch.linalg.matrix_exp({x})",
        "matrix_power": "torch.linalg.matrix_power({x}, {n})",
        "pinv": "torch.linalg.pinv({x})",
        "lstsq": "torch.linalg.lstsq({x}, {y}).solution",
        "matrix_norm": "torch.linalg.matrix_norm({x}, {order} if {order} in ('fro', 'nuc') else float({order}))",
        "trace": "(torch.trace({x}) if {x}.ndim == 2 and not {offset} else "
        "torch.diagonal({x}, {offset}, *{axes}).sum(-1))",
        "power": "torch.pow({x}, {y})",
        "integer_power": "torch.pow({x}, {n})",
        "floor_divide": "torch.div({x}, {y}, rounding_mode='floor')",
        "nan_to_num": "torch.nan_to_num({x}, {nan}, {posinf}, {neginf})",
        "mvlgamma": "torch.mvlgamma({x}, {p})",
        "clip": "torch.clamp({x}, {lower}, {upper})",
        "softplus": "torch.nn.functional.softplus({x}, threshold=40)",
        "silu": "torch.nn.functional.silu({x})",
        "erfcx": "torch.special.erfcx({x})",
        "polygamma": "torch.polygamma({n}, {x})",
        "i0e": "torch.special.i0e({x})",
        "i1": "torch.special.i1({x})",
        "i1e": "torch.special.i1e({x})",
        "entr": "torch.special.entr({x})",
        "ndtr": "torch.special.ndtr({x})",
        "log_ndtr": "torch.special.log_ndtr({x})",
        "xlog1py": "torch.special.xlog1py({x}, {y})",
        "addcmul": "torch.addcmul({x}, {y}, {z}, value={value})",
        "addcdiv": "torch.addcdiv({x}, {y}, {z}, value={value})",
        "log_sigmoid": "torch.nn.functional.logsigmoid({x})",
        "thresholded_softplus": "torch.nn.functional.softplus({x}, beta={beta}, threshold=20)",
        "gelu": "torch.nn.functional.gelu({x})",
        "gelu_tanh": "torch.nn.functional.gelu({x}, approximate='tanh')",
        "elu": "torch.nn.functional.elu({x}, alpha={alpha})",
        "celu": "torch.celu({x}, alpha={alpha})",
        "selu": "torch.selu({x})",
        "leaky_relu": "torch.nn.functional.leaky_relu({x}, negative_slope={negative_slope})",
        "relu6": "torch.nn.functional.relu6({x})",
        "hard_sigmoid": "torch.nn.functional.hardsigmoid({x})",
        "hard_tanh": "torch.nn.functional.hardtanh({x}, {lower}, {upper})",
        "hard_swish": "torch.nn.functional.hardswish({x})",
        "softsign": "torch.nn.functional.softsign({x})",
        "mish": "torch.nn.functional.mish({x})",
        "tanhshrink": "torch.nn.functional.tanhshrink({x})",
        "softshrink": "torch.nn.functional.softshrink({x}, {lambd})",
        "hardshrink": "torch.nn.functional.hardshrink({x}, {lambd})",
        "threshold": "torch.nn.functional.threshold({x}, {threshold}, {value})",
        "squared_error": f"torch.nn.functional.mse_loss({PAIR}, reduction='none')",
        "absolute_error": f"torch.nn.functional.l1_loss({PAIR}, reduction='none')",
        "huber": f"torch.nn.functional.huber_loss({PAIR}, reduction='none', delta={{delta}})",
        "smooth_l1": f"torch.nn.functional.smooth_l1_loss({PAIR}, reduction='none', beta={{beta}})",
        "bce": f"torch.nn.functional.binary_cross_entropy({PAIR}, reduction='none')",
        "bce_with_logits": f"torch.nn.functional.binary_cross_entropy_with_logits({PAIR}, reduction='none')",
        "pointwise_kl_div": f"torch.nn.functional.kl_div({PAIR}, reduction='none')",
        "poisson_nll": f"torch.nn.functional.poisson_nll_loss({PAIR}, reduction='none')",
        "gaussian_nll": "torch.nn.functional.gaussian_nll_loss("
        "*torch.broadcast_tensors({x}, {y}, {var}), reduction='none')",
        "sum": "torch.sum({x}, dim=all_axes({x}, {axis}), keepdim={keepdims})",
        "mean": "torch.mean({x}, dim=all_axes({x}, {axis}), keepdim={keepdims})",
        "prod": "product({x}, {axis}, {keepdims})",
        "max": "torch.amax({x}, dim=all_axes({x}, {axis}), keepdim={keepdims})",
        "min": "torch.amin({x}, dim=all_axes({x}, {axis}), keepdim={keepdims})",
        "reshape": "torch.reshape({x}, {shape})",
        "transpose": "torch.permute({x}, {axes} if {axes} is not None else tuple(range({x}.ndim))[::-1])",
        "broadcast_to": "torch.broadcast_to({x}, {shape})",
        "expand_dims": "torch.unsqueeze({x}, {axis})",
        "squeeze": "torch.squeeze({x}, {axis})",
        "flip": "torch.flip({x}, all_axes({x}, {axis}))",
        "concatenate": "torch.cat({arrays}, dim={axis})",
        "softmax": "torch.softmax({x}, dim={axis})",
        "var": "torch.var({x}, dim=all_axes({x}, {axis}), correction={correction}, keepdim={keepdims})",
        "std": "torch.std({x}, dim=all_axes({x}, {axis}), correction={correction}, keepdim={keepdims})",
        "logsumexp": "torch.logsumexp({x}, dim=all_axes({x}, {axis}), keepdim={keepdims})",
        "l1_norm": "torch.linalg.vector_norm({x}, 1, all_axes({x}, {axis}), {keepdims})",
        "l2_norm": "torch.linalg.vector_norm({x}, 2, all_axes({x}, {axis}), {keepdims})",
        "max_norm": "torch.linalg.vector_norm({x}, float('inf'), all_axes({x}, {axis}), {keepdims})",
        "vector_norm": "torch.linalg.vector_norm({x}, {order}, all_axes({x}, {axis}), {keepdims})",
        "cov": "torch.cov({x}, correction={correction})",
        "corrcoef": "torch.corrcoef({x})",
        "cumsum": "torch.cumsum({x}, dim={axis})",
        "cumprod": "torch.cumprod({x}, dim={axis})",
        "cummax": "torch.cummax({x}, dim={axis}).values",
        "cummin": "torch.cummin({x}, dim={axis}).values",
        "logcumsumexp": "torch.logcumsumexp({x}, dim={axis})",
        "diff": "torch.diff({x}, {n}, dim={axis})",
        "trapezoid": "torch.trapezoid({y}, {x}, dim={axis})",
        "times_argmax": "{x} * torch.argmax({x}, {axis}, keepdim={axis} is not None)",
        "times_argmin": "{x} * torch.argmin({x}, {axis}, keepdim={axis} is not None)",
        "sort": "torch.sort({x}, dim={axis}, descending={descending}).values",
        "topk": "torch.topk({x}, {k}, dim={axis}, largest={largest}).values",
        "kthvalue": "torch.kthvalue({x}, {k}, dim={axis}, keepdim={keepdims}).values",
        "quantile": "torch.quantile({x}, {q}, dim={axis}, keepdim={keepdims})",
        "median": "torch.quantile({x}, 0.5, dim={axis}, keepdim={keepdims}, interpolation='midpoint')",
        "lower_median": "torch.median({x}, dim={axis}, keepdim={keepdims}).values",
        "log_softmax": "torch.nn.functional.log_softmax({x}, dim={axis})",
        "softmin": "torch.nn.functional.softmin({x}, dim={axis})",
        "layer_norm": "torch.nn.functional.layer_norm({x}, {x}.shape[-1:], {weight}, {bias}, {eps})",
        "rms_norm": "torch.nn.functional.rms_norm({x}, {x}.shape[-1:], {weight}, {eps})",
        "batch_norm": "torch.nn.functional.batch_norm({x}, None, None, {weight}, {bias}, training=True, eps={eps})",
        "batch_norm_inference": "torch.nn.functional.batch_norm({x}, torch.full({bias}.shape, {mean}, "
        "dtype={x}.dtype), torch.full({bias}.shape, {var}, dtype={x}.dtype), {weight}, {bias}, eps={eps})",
        "group_norm": "torch.nn.functional.group_norm({x}, {groups}, {weight}, {bias}, {eps})",
        "instance_norm": "torch.nn.functional.instance_norm({x}, weight={weight}, bias={bias}, eps={eps})",
        "local_response_norm": "torch.nn.functional.local_response_norm({x}, {size}, {alpha}, {beta}, {k})",
        "normalize": "torch.nn.functional.normalize({x}, dim={axis}, eps={eps})",
        "cosine_similarity": "torch.nn.functional.cosine_similarity({x}, {y}, dim={axis}, eps={eps})",
        "mse_loss": "torch.nn.functional.mse_loss({x}, {y}, reduction={reduction})",
        "l1_loss": "torch.nn.functional.l1_loss({x}, {y}, reduction={reduction})",
        "huber_loss": "torch.nn.functional.huber_loss({x}, {y}, reduction={reduction}, delta={delta})",
        "smooth_l1_loss": "torch.nn.functional.smooth_l1_loss({x}, {y}, reduction={reduction}, beta={beta})",
        "binary_cross_entropy": "torch.nn.functional.binary_cross_entropy({x}, {y}, reduction={reduction})",
        "binary_cross_entropy_with_logits": "torch.nn.functional.binary_cross_entropy_with_logits({x}, {y}, "
        "reduction={reduction})",
        "kl_div": "torch.nn.functional.kl_div({x}, {y}, reduction={reduction}, log_target={log_target})",
        "gaussian_nll_loss": "torch.nn.functional.gaussian_nll_loss({x}, {y}, {var}, {full}, reduction={reduction})",
        "poisson_nll_loss": "torch.nn.functional.poisson_nll_loss({x}, {y}, {log_input}, eps={eps}, "
        "reduction={reduction})",
        "soft_margin_loss": "torch.nn.functional.soft_margin_loss({x}, signs({positive}, {x}), reduction={reduction})",
        "hinge_embedding_loss": "torch.nn.functional.hinge_embedding_loss({x}, signs({positive}, {x}), {margin}, "
        "reduction={reduction})",
        "margin_ranking_loss": "torch.nn.functional.margin_ranking_loss({x}, {y}, signs({positive}, {x}), {margin}, "
        "reduction={reduction})",
        "cosine_embedding_loss": "torch.nn.functional.cosine_embedding_loss({x}, {y}, signs({positive}, {x}), "
        "{margin}, reduction={reduction})",
        "triplet_margin_loss": "torch.nn.functional.triplet_margin_loss({anchor}, {positive}, {negative}, {margin}, "
        "eps={eps}, reduction={reduction})",
        "nll_loss": "torch.nn.functional.nll_loss({x}, classes({target}, {x}), reduction={reduction})",
        "cross_entropy": "torch.nn.functional.cross_entropy({x}, classes({target}, {x}), reduction={reduction}, "
        "label_smoothing={label_smoothing})",
        "soft_cross_entropy": "torch.nn.functional.cross_entropy({x}, {target}, reduction={reduction}, "
        "label_smoothing={label_smoothing})",
        "multi_margin_loss": "torch.nn.functional.multi_margin_loss({x}, classes({target}, {x}), {p}, {margin}, "
        "reduction={reduction})",
        "embedding": "torch.nn.functional.embedding(torch.tensor({indices}, dtype=torch.int64) % {weight}.shape[0], "
        "{weight})",
        "glu": "torch.nn.functional.glu({x}, dim={axis})",
        "scaled_dot_product_attention": "torch.nn.functional.scaled_dot_product_attention({query}, {key}, {value}, "
        "is_causal={is_causal})",
        "masked_dot_product_attention": "torch.nn.functional.scaled_dot_product_attention({query}, {key}, {value}, "
        "{mask})",
        "stack": "torch.stack({arrays}, dim={axis})",
        "pad": "padded({x}, {pad_width}, {value})",
        "constant_pad": "padded({x}, {pad_width}, {value})",
        "pad_by_copies": "bordered({x}, {pad_width}, {mode})",
        "tile": "torch.tile({x}, {reps})",
        "repeat": "torch.repeat_interleave({x}, {repeats}, dim={axis})",
        "repeat_interleave": "torch.repeat_interleave({x}, integers({repeats}), dim={axis})",
        "roll": "torch.roll({x}, {shift}, {axis})",
        "moveaxis": "torch.movedim({x}, {source}, {destination})",
        "swapaxes": "torch.swapaxes({x}, {axis1}, {axis2})",
        "rot90": "torch.rot90({x}, {k}, {axes})",
        "fliplr": "torch.fliplr({x})",
        "flipud": "torch.flipud({x})",
        "diagonal": "torch.diagonal({x}, {offset}, *{axes})",
        "diag": "torch.diag({x}, {k})",
        "diag_embed": "torch.diag_embed({x}, {offset}, *{axes})",
        "tril": "torch.tril({x}, {k})",
        "triu": "torch.triu({x}, {k})",
        "ravel": "torch.ravel({x})",
        "flatten": "torch.flatten({x}, {start_dim}, {end_dim})",
        "unflatten": "torch.unflatten({x}, {axis}, {sizes})",
        "squeeze_all": "torch.squeeze({x})",
        "atleast_1d": "torch.atleast_1d({x})",
        "atleast_2d": "torch.atleast_2d({x})",
        "atleast_3d": "torch.atleast_3d({x})",
        "expand": "{x}.expand({shape})",
        "broadcast_arrays": "torch.stack(torch.broadcast_tensors(*{arrays}))",
        "meshgrid": "torch.stack(torch.meshgrid({arrays}, indexing={indexing}))",
        "hstack": "torch.hstack({arrays})",
        "vstack": "torch.vstack({arrays})",
        "dstack": "torch.dstack({arrays})",
        "column_stack": "torch.column_stack({arrays})",
        "block_diag": "torch.block_diag(*{arrays})",
        "array_split": "torch.tensor_split({x}, {sections}, {axis})[{part}]",
        "split_at": "torch.tensor_split({x}, {points}, {axis})[{part}]",
        "split_by_size": "torch.split({x}, {size}, {axis})[{part}]",
        "chunk": "torch.chunk({x}, {chunks}, {axis})[{part}]",
        "unstack": "torch.unbind({x}, {axis})[{position}]",
        "pixel_shuffle": "torch.nn.functional.pixel_shuffle({x}, {factor})",
        "pixel_unshuffle": "torch.nn.functional.pixel_unshuffle({x}, {factor})",
        "channel_shuffle": "torch.nn.functional.channel_shuffle({x}, {groups})",
        "take_along_axis": "torch.take_along_dim({x}, integers({indices}), {axis})",
        "gather": "torch.gather({x}, {axis}, integers({indices}))",
        "index_select": "torch.index_select({x}, {axis}, integers({indices}))",
        "take_flat": "torch.take({x}, integers({indices}))",
        "select": "torch.select({x}, {axis}, {position})",
        "narrow": "torch.narrow({x}, {axis}, {start}, {length})",
        "masked_select": "torch.masked_select({x}, truths({mask}))",
        "boolean_index": "{x}[truths({mask})]",
        "masked_fill": "torch.masked_fill({x}, {mask}, {value})",
        "masked_nan_to_num": "torch.nan_to_num({x} + torch.where({mask}, torch.nan, 0.0).to({x}.dtype), {nan})",
        "where_number": "torch.where({condition}, {x}, {value})",
        "index_fill": "torch.index_fill({x}, {axis}, integers({indices}), {value})",
        "scatter": "torch.scatter({x}, {axis}, integers({indices}), {source})",
        "scatter_add": "torch.scatter_add({x}, {axis}, integers({indices}), {source})",
        "scatter_reduce": "torch.scatter_reduce({x}, {axis}, integers({indices}), {source}, reduction({reduce}), "
        "include_self={include_self})",
        "index_add": "torch.index_add({x}, {axis}, integers({indices}), {source}, alpha={alpha})",
        "index_copy": "torch.index_copy({x}, {axis}, integers({indices}), {source})",
        "index_reduce": "torch.index_reduce({x}, {axis}, integers({indices}), {source}, reduction({reduce}), "
        "include_self={include_self})",
        "index_put": "torch.index_put({x}, (integers({indices}),), {source}, {accumulate})",
        "set_at": "set_at({x}, {index}, {source})",
        "put": "torch.put({x}, integers({indices}), {source}, {accumulate})",
        "masked_scatter": "torch.masked_scatter({x}, truths({mask}, {x}.shape), {source})",
        "slice_scatter": "torch.slice_scatter({x}, {source}, {axis}, {start}, None, {step})",
        "select_scatter": "torch.select_scatter({x}, torch.select({source}, {axis}, 0), {axis}, {position})",
        "diagonal_scatter": "torch.diagonal_scatter({x}, torch.diagonal({source}, {offset}, *{axes}), {offset}, "
        "*{axes})",
        "index": "flipped_steps({x}, {index})",
        "take": "{x}[(slice(None),) * ({axis} % {x}.ndim) + (torch.tensor({indices}, dtype=torch.int64),)]",
        "add_at": "torch.zeros({shape}, dtype={x}.dtype).index_put(tuple(torch.tensor(np.array(a[{index}])) "
        "for a in np.indices({shape})), {x}, accumulate=True)",
    },
    errors={
        "freed-graph": "RuntimeError: Trying to backward through the graph a second time",
        "implicit-seed": "RuntimeError: grad can be implicitly created only for scalar outputs",
        "seed-shape": "RuntimeError: Mismatch in shape",
        "no-graph": "RuntimeError: element 0 of tensors does not require grad",
        "modified-in-place": "RuntimeError: one of the variables needed for gradient computation has been modified",
        "leaf-in-place": "RuntimeError: a (view of a )?leaf Variable that requires grad is being used in an in-place",
        "write-shape": "RuntimeError: (output with shape .* doesn't match the broadcast|The size of tensor|"
        "The expanded size|expand)",
        "hook-on-constant": "RuntimeError: cannot register a hook on a tensor that doesn't require gradient",
        "retain-grad-on-constant": "RuntimeError: can't retain_grad on Tensor that has requires_grad=False",
        "requires-grad-of-non-leaf": "RuntimeError: you can only change requires_grad flags of leaf variables",
    },
)
