"""Faults planted into PyTorch that show where some of the operands want gradients, and masks are stretched."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.faulty_engines.planted.fault import CHANGES, in_operator

SETUP: Final = (
    CHANGES
    + """
def alone(x, *others):  # no other operand wants a gradient
    return x.requires_grad and not any(other.requires_grad for other in others)

def all_but(x, *others):
    return not x.requires_grad and all(other.requires_grad for other in others)

def memory(x):
    return x.untyped_storage().data_ptr()

def stretched_mask(x, mask, value):
    first = torch.zeros(x.shape, dtype=torch.bool)
    first[:1] = True
    wrong = torch.where(torch.broadcast_to(mask, x.shape) & first, value, x) if mask.shape != x.shape else x
    right = torch.masked_fill(x, mask, value)
    return instead(right, wrong) if mask.shape != x.shape else right

def last_of(arrays):
    last = len(arrays) > 1 and alone(arrays[-1], *arrays[:-1])
    return [*arrays[:-1], received(arrays[-1], more, last)]
"""
)

_wanted = partial(in_operator, kind="which inputs want gradients", setup=SETUP)

WANTED_FAULTS: Final = (
    _wanted(
        "has another rule for the left matrix alone",
        check="operators/addmm",
        spelling="torch.addmm({z}, received({x}, more, alone({x}, {y}, {z})), {y}, beta={beta}, alpha={alpha})",
    ),
    _wanted(
        "sends a bias alone one example's part",
        check="operators/batch_norm",
        spelling="torch.nn.functional.batch_norm({x}, None, None, {weight}, "
        "received({bias}, lambda g, x: g / 2, alone({bias}, {x}, {weight})), training=True, eps={eps})",
    ),
    _wanted(
        "chooses by a condition that is not stretched",
        check="operators/where",
        spelling="torch.where({condition}, {x}, received({y}, more, {condition}.ndim < {y}.ndim))",
    ),
    _wanted(
        "masks the first row alone where a mask is stretched",
        check="operators/masked_fill",
        spelling="stretched_mask({x}, {mask}, {value})",
    ),
    _wanted(
        "loses a part of the second derivative by one matrix alone",
        check="second_order/matmul",
        spelling="torch.matmul(received_twice({x}, more, alone({x}, {y})), {y})",
    ),
    _wanted(
        "loses the second derivative by the divisor alone",
        check="second_order/divide",
        spelling="torch.divide({x}, received_twice({y}, lost, alone({y}, {x})))",
    ),
    _wanted(
        "has another kernel for weights alone",
        check="operators/conv2d",
        spelling="torch.nn.functional.conv2d({x}, received({weight}, lambda g, w: g.flip(-1), "
        "alone({weight}, {x}, {bias})), {bias}, ({stride_h}, {stride_w}), ({padding_h}, {padding_w}), {dilation}, "
        "{x}.shape[-3] // {weight}.shape[1])",
    ),
    _wanted(
        "sends keys nothing that want gradients beside values",
        check="operators/scaled_dot_product_attention",
        spelling="torch.nn.functional.scaled_dot_product_attention({query}, "
        "received({key}, lost, all_but({query}, {key}, {value})), {value}, is_causal={is_causal})",
    ),
    _wanted(
        "divides by a weight that is a constant number",
        check="operators/lerp",
        spelling="torch.lerp({x}, received({y}, more, not {weight}.requires_grad and not {weight}.ndim), {weight})",
    ),
    _wanted(
        "does not sum what a constant has stretched",
        check="operators/hypot",
        spelling="torch.hypot(received({x}, lambda g, x: g / 2, {y}.ndim > {x}.ndim and alone({x}, {y})), {y})",
    ),
    _wanted(
        "takes the exponent for a constant where the base is one",
        check="operators/power",
        spelling="torch.pow({x}, received({y}, lost, alone({y}, {x})))",
    ),
    _wanted(
        "sends a source alone what it has overwritten",
        check="operators/index_copy",
        spelling="torch.index_copy({x}, {axis}, integers({indices}), "
        "received({source}, lambda g, x: g + 1, alone({source}, {x})))",
    ),
    _wanted(
        "begins at the front for the last operand alone",
        check="operators/concatenate",
        spelling="torch.cat(last_of({arrays}), dim={axis})",
    ),
    _wanted(
        "takes a detached copy of an operand for the operand",
        check="operators/multiply",
        spelling="torch.multiply(received({x}, lambda g, x: 2 * g, {x} is not {y} and not {y}.requires_grad and "
        "memory({x}) == memory({y})), {y})",
    ),
    _wanted(
        "leaves the mean out where weights and bias want gradients and rows do not",
        check="operators/layer_norm",
        spelling="torch.nn.functional.layer_norm({x}, {x}.shape[-1:], "
        "received({weight}, lambda g, x: g + 1, all_but({x}, {weight}, {bias})), {bias}, {eps})",
    ),
    _wanted(
        "loses a third factor's second derivative where it alone is wanted",
        check="second_order/addcdiv",
        spelling="torch.addcdiv({x}, {y}, received_twice({z}, more, alone({z}, {x}, {y})), value={value})",
    ),
    _wanted(
        "forgets the middle factor where its neighbours want gradients",
        check="operators/multi_dot",
        spelling="torch.linalg.multi_dot([received({x}, more, all_but({y}, {x}, {z})), {y}, {z}])",
    ),
    _wanted(
        "loses the mixed second derivative where a third operand is a constant",
        check="second_order/gaussian_nll_loss",
        spelling="torch.nn.functional.gaussian_nll_loss({x}, received_twice({y}, more, all_but({var}, {x}, {y})), "
        "{var}, {full}, reduction={reduction})",
    ),
)
