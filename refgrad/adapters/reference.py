"""How is the reference engine driven? It has every operator of the table under the table's own name."""

from refgrad.harness import TapeAdapter, spell

ADAPTER = TapeAdapter(
    name="refgrad",
    distribution="refgrad",
    setup="""
import refgrad.engine as torch

def jvp(function, primals, tangents):  # a pullback is linear in its cotangent, and has the pushforward as its own
    moving = [x.detach().requires_grad_() for x in primals]
    output = function(*moving)
    weights = torch.zeros(output.shape, dtype=output.dtype, requires_grad=True)
    recorded = [output] if output.requires_grad else [0 * weights]
    pulled = torch.grad(recorded, moving, [weights], create_graph=True, allow_unused=True)
    linear = [(x, v) for x, v in zip(pulled, tangents) if x is not None and x.requires_grad]
    if not linear:
        return output, weights.detach()
    return output, torch.grad([x for x, _ in linear], weights, [v for _, v in linear])[0]
""",
    leaf="torch.tensor({array}, requires_grad={requires_grad})",
    value="{x}.detach().numpy()",
    backward="{output}.backward({seed}, retain_graph={retain_graph})",
    seed="torch.tensor({array})",
    gradient="{leaf}.grad if {leaf}.grad is None else {leaf}.grad.detach().numpy()",
    dtypes=("float64", "float32", "float16"),
    zero_grad="setattr({leaf}, 'grad', None)",
    zero_grad_to_zeros="{leaf}.grad is None or {leaf}.grad.zero_()",
    detach="{x}.detach()",
    no_grad="torch.no_grad()",
    enable_grad="torch.enable_grad()",
    set_requires_grad="{x}.requires_grad_({requires_grad})",
    in_place={"add": "{x}.add_({y})", "multiply": "{x}.mul_({y})", "copy": "{x}.copy_({y})"},
    in_place_at={
        "add": "{x}.__setitem__({index}, {x}[{index}] + {y})",
        "multiply": "{x}.__setitem__({index}, {x}[{index}] * {y})",
        "copy": "{x}.__setitem__({index}, {y})",
    },
    hook="{x}.register_hook({function})",
    unhook="{handle}.remove()",
    retain_grad="{x}.retain_grad()",
    requires_grad="{x}.requires_grad",
    is_leaf="{x}.is_leaf",
    recorded="{x}.grad_fn is not None",
    node="{x}.node",
    parents="[node for node, _ in {node}.next_functions]",
    grad="torch.grad({output}, {leaf}, {seed}, create_graph=True)[0]",
    jvp="jvp({function}, {primals}, {tangents})",
    aliases={  # the others are one function under two names
        "transpose": ("torch.permute_dims({x}, axes={axes})",),
        "integer_power": ("{x} ** {n}",),
    },
    operators=spell("torch"),
    errors={
        "freed-graph": "RuntimeError: Trying to backward through the graph a second time",
        "implicit-seed": "RuntimeError: grad can be implicitly created only for scalar outputs",
        "seed-shape": "RuntimeError: Mismatch in shape",
        "no-graph": "RuntimeError: element 0 of tensors does not require grad",
        "modified-in-place": "RuntimeError: one of the variables needed for gradient computation has been modified",
        "leaf-in-place": "RuntimeError: a (view of a )?leaf Variable that requires grad is being used in an in-place",
        "write-shape": "output with shape .* doesn't match the broadcast|operands could not be broadcast",
        "hook-on-constant": "RuntimeError: cannot register a hook on a tensor that doesn't require gradient",
        "retain-grad-on-constant": "RuntimeError: can't retain_grad on Tensor that has requires_grad=False",
        "requires-grad-of-non-leaf": "RuntimeError: you can only change requires_grad flags of leaf variables",
    },
)
