"""How is PyTorch driven?"""

from refgrad.harness import TapeAdapter

ADAPTER = TapeAdapter(
    name="torch",
    distribution="torch",
    setup="""
import numpy as np
import torch

def all_axes(x, axis):
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis

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
""",
    leaf="torch.tensor({array}, requires_grad={requires_grad})",
    constant="torch.tensor({array})",
    value="{x}.detach().numpy()",
    backward="{output}.backward({seed}, retain_graph={retain_graph})",
    seed="torch.tensor({array})",
    gradient="{leaf}.grad if {leaf}.grad is None else {leaf}.grad.clone().numpy()",
    zero_grad="setattr({leaf}, 'grad', None)",
    grad="torch.autograd.grad({output}, {leaf}, {seed}, create_graph=True)[0]",
    alike=("torch",),
    operators={
        "matmul": "torch.matmul({x}, {y})",
        "power": "torch.pow({x}, {y})",
        "clip": "torch.clamp({x}, {lower}, {upper})",
        "softplus": "torch.nn.functional.softplus({x}, threshold=1000)",
        "silu": "torch.nn.functional.silu({x})",
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
        "stack": "torch.stack({arrays}, dim={axis})",
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
    },
)
