"""How is PaddlePaddle driven?"""

from refgrad.harness import TapeAdapter
from refgrad.lifecycle import Policy

ADAPTER = TapeAdapter(
    name="paddle",
    distribution="paddlepaddle",
    setup="""
import os
os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle
import paddle.nn.functional as F
paddle.set_device("cpu")

def all_axes(x, axis):
    return list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)

def gradient_of(output, leaf, seed):
    try:
        return paddle.grad([output], [leaf], None if seed is None else [seed], create_graph=True)[0]
    except RuntimeError as error:
        if "doesn't have any grad op" in str(error):
            raise NotImplementedError(str(error)) from error
        raise

def overwrite(x, y):  # 0-d tensors cannot be indexed for writing, and assign would change their shape
    if x.ndim:
        x[...] = y
    else:
        paddle.assign(paddle.reshape(y, []), output=x)

def integers(indices):
    return paddle.to_tensor(np.array(indices, dtype=np.int64))
""",
    leaf="paddle.to_tensor({array}, stop_gradient=not {requires_grad})",
    value="{x}.numpy()",
    backward="{output}.backward({seed}, retain_graph={retain_graph})",
    seed="paddle.to_tensor({array})",
    gradient="None if {leaf}.grad is None else {leaf}.grad.numpy()",
    dtypes=("float64", "float32"),
    policy=Policy(frees="always", implicit_seed="ones"),
    zero_grad="{leaf}.clear_gradient(False)",
    zero_grad_to_zeros="{leaf}.grad is None or {leaf}.clear_gradient(True)",
    detach="{x}.detach()",
    no_grad="paddle.no_grad()",
    enable_grad="paddle.enable_grad()",
    set_requires_grad="setattr({x}, 'stop_gradient', not {requires_grad})",
    in_place={"add": "{x}.add_({y})", "multiply": "{x}.multiply_({y})", "copy": "overwrite({x}, {y})"},
    in_place_at={
        "add": "{x}.__setitem__({index}, {x}[{index}] + {y})",
        "multiply": "{x}.__setitem__({index}, {x}[{index}] * {y})",
        "copy": "{x}.__setitem__({index}, {y})",
    },
    hook="{x}.register_hook({function})",
    unhook="{handle}.remove()",
    retain_grad="{x}.retain_grads()",
    requires_grad="not {x}.stop_gradient",
    is_leaf="{x}.is_leaf",
    recorded="{x}.grad_fn is not None and {x}.grad_fn.name() != 'GradNodeAccumulation'",
    grad="gradient_of({output}, {leaf}, {seed})",
    alike=("paddle", "F"),
    unlike=frozenset({"prelu"}),  # its weights are those of channels
    operators={
        "negative": "-{x}",
        "matmul": "paddle.matmul({x}, {y})",
        "sum": "paddle.sum({x}, axis={axis}, keepdim={keepdims})",
        "mean": "paddle.mean({x}, axis={axis}, keepdim={keepdims})",
        "prod": "paddle.prod({x}, axis={axis}, keepdim={keepdims})",
        "max": "paddle.max({x}, axis={axis}, keepdim={keepdims})",
        "min": "paddle.min({x}, axis={axis}, keepdim={keepdims})",
        "logsumexp": "paddle.logsumexp({x}, axis={axis}, keepdim={keepdims})",
        "var": "paddle.var({x}, axis={axis}, unbiased=bool({correction}), keepdim={keepdims})",
        "reshape": "paddle.reshape({x}, {shape})",
        "transpose": "paddle.transpose({x}, list({axes} or reversed(range({x}.ndim))))",
        "broadcast_to": "paddle.broadcast_to({x}, {shape})",
        "expand_dims": "paddle.unsqueeze({x}, {axis})",
        "squeeze": "paddle.squeeze({x}, {axis})",
        "flip": "paddle.flip({x}, all_axes({x}, {axis}))",
        "concatenate": "paddle.concat({arrays}, axis={axis})",
        "stack": "paddle.stack({arrays}, axis={axis})",
        "softmax": "F.softmax({x}, axis={axis})",
        "log_softmax": "F.log_softmax({x}, axis={axis})",
        "cumsum": "paddle.cumsum({x}, axis={axis})",
        "cumprod": "paddle.cumprod({x}, dim={axis})",
        "integer_power": "paddle.pow({x}, {n})",
        "clip": "paddle.clip({x}, {lower}, {upper})",
        "elu": "F.elu({x}, {alpha})",
        "leaky_relu": "F.leaky_relu({x}, {negative_slope})",
        "tril": "paddle.tril({x}, {k})",
        "triu": "paddle.triu({x}, {k})",
        "roll": "paddle.roll({x}, {shift}, {axis})",
        "moveaxis": "paddle.moveaxis({x}, {source}, {destination})",
        "swapaxes": "paddle.swapaxes({x}, {axis1}, {axis2})",
        "tile": "paddle.tile({x}, {reps})",
        "index": "{x}[tuple(integers(i) if isinstance(i, tuple) else i for i in {index})]",
        "take": "{x}[(slice(None),) * ({axis} % {x}.ndim) + (integers({indices}),)]",
        "einsum": "paddle.einsum({subscripts}, {x}, {y})",
        "outer": "paddle.outer({x}, {y})",
        "kron": "paddle.kron({x}, {y})",
        "det": "paddle.linalg.det({x})",
        "inv": "paddle.linalg.inv({x})",
        "solve": "paddle.linalg.solve({x}, {y})",
    },
    lacks=frozenset({"error:no-graph", "error:retain-grad-on-constant", "error:requires-grad-of-non-leaf"}),
    errors={
        "freed-graph": "SystemError: .*The TensorWrappers of .* do not exist",
        "seed-shape": "AssertionError: Tensor shape not match",
        "modified-in-place": r"RuntimeError: \(PermissionDenied\) Tensor .* has been modified by an inplace operation",
        "leaf-in-place": r"ValueError: \(InvalidArgument\) Leaf .* that doesn't stop gradient can't use inplace",
        "write-shape": "ValueError",
        "hook-on-constant": "RuntimeError: Cannot register hook on a tensor that stop gradient",
    },
)
