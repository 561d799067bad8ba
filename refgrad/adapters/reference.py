"""How is the reference engine driven? It has every operator of the table under the table's own name."""

from refgrad.harness import TapeAdapter, spell

ADAPTER = TapeAdapter(
    name="refgrad",
    distribution="refgrad",
    setup="import refgrad.engine as torch",
    leaf="torch.tensor({array}, requires_grad={requires_grad})",
    value="{x}.detach().numpy()",
    backward="{output}.backward({seed}, retain_graph={retain_graph})",
    seed="torch.tensor({array})",
    gradient="{leaf}.grad if {leaf}.grad is None else {leaf}.grad.numpy()",
    zero_grad="setattr({leaf}, 'grad', None)",
    grad="torch.grad({output}, {leaf}, {seed}, create_graph=True)[0]",
    operators=spell("torch"),
    errors={
        "freed-graph": "RuntimeError: Trying to backward through the graph a second time",
        "implicit-seed": "RuntimeError: grad can be implicitly created only for scalar outputs",
        "seed-shape": "RuntimeError: Mismatch in shape",
        "no-graph": "RuntimeError: element 0 of tensors does not require grad",
    },
)
