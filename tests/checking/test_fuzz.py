"""Does anything but a report come out of a check, whatever the function and its inputs are?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.checking.fuzz import (
    NUMBERS,
    OPTIONS,
    SETTINGS,
    SHAPES,
    Function,
    assert_only_a_report,
    composed,
    counting,
    inputs_of,
    names_of,
    objects,
    raising,
    warning,
)

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines

DTYPES = st.sampled_from([
    torch.float64, torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex128, torch.complex64,
    torch.int64, torch.bool,
])  # fmt: skip


@st.composite
def tensors(draw: Any) -> Any:
    """A tensor of any dtype and shape, perhaps a view, perhaps of memory that several entries share."""
    shape = draw(SHAPES)
    dtype = draw(DTYPES)
    with np.errstate(all="ignore"):
        values = np.array(draw(st.lists(NUMBERS, min_size=4, max_size=4)))
        array = np.resize(values, shape)
        array = np.nan_to_num(array) if not (dtype.is_floating_point or dtype.is_complex) else array
        tensor = torch.tensor(array.astype(complex) if dtype.is_complex else array).to(dtype)
    layout = draw(st.sampled_from(["plain", "plain", "transposed", "expanded", "sliced", "sparse"]))
    if layout == "transposed":
        tensor = tensor.mT if tensor.ndim > 1 else tensor
    elif layout == "expanded":
        tensor = tensor.expand(2, *tensor.shape)
    elif layout == "sliced":
        tensor = torch.cat([tensor, tensor])[::2] if tensor.ndim else tensor
    elif layout == "sparse" and tensor.ndim == 2 and dtype == torch.float64:
        tensor = tensor.to_sparse()
    if (dtype.is_floating_point or dtype.is_complex) and draw(st.booleans()):
        tensor = tensor.detach().requires_grad_()
    return tensor


def ruled(rule: Function) -> Function:
    """Return the square of a tensor with a rule of its own."""

    class Ruled(torch.autograd.Function):  # type: ignore[misc]
        """A function with any rule."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return rule(cotangents[0], *ctx.saved_tensors)

    return Ruled.apply  # type: ignore[no-any-return]


ONE: dict[str, Function] = {
    "identity": lambda x: x,
    "square": lambda x: x * x,
    "root": torch.sqrt,
    "logarithm": torch.log,
    "relu": torch.relu,
    "sum": torch.sum,
    "largest": torch.amax,
    "inverse": lambda x: 1 / x,
    "detached": lambda x: x.detach(),
    "half detached": lambda x: x * x.detach(),
    "number": lambda x: x.sum().item(),
    "nothing": lambda _: None,
    "objects": objects,
    "words": lambda _: "words",
    "numpy": lambda x: x.detach().numpy(),
    "several": lambda x: (x, [x.exp(), {"a": x.sum()}], None, 3),
    "integers": lambda x: x.long(),
    "rounded": torch.round,
    "constant": lambda _: torch.ones(2),
    "in place": lambda x: x.mul_(2),
    "written": lambda x: x.detach().add_(1),
    "noise": lambda x: x + torch.rand_like(x),
    "noise of numpy": lambda x: x * np.random.rand(),  # noqa: NPY002 (as people do)
    "float32 inside": lambda x: x.float().exp().to(x.dtype),
    "gradient inside": lambda x: torch.autograd.grad((x**3).sum(), x, create_graph=True)[0],
    "no_grad": torch.no_grad()(lambda x: x * 2),
    "matrix": lambda x: x @ x,
    "inverse matrix": torch.linalg.inv,
    "sorted": lambda x: x.sort(),
    "complex": lambda x: torch.view_as_real(torch.fft.fft(x)),
    "sparse": lambda x: x.to_sparse(),
    "raises": raising,
    "warns": warning,
    "counts": counting,
    "empty": lambda x: x[:0],
    "steps": lambda x: (x * 8).floor() / 8,
    "generator": lambda x: (part for part in (x, x)),
    "no cotangent": ruled(lambda _, x: 2 * x),
    "nothing back": ruled(lambda *_: None),
    "another shape": ruled(lambda g, _: g.sum()),
    "too many": ruled(lambda g, _: (g, g)),
    "not a number": ruled(lambda g, _: g * np.nan),
    "raises back": ruled(raising),
    "words back": ruled(lambda *_: "words"),
    "writes back": ruled(lambda g, x: g.mul_(2 * x)),
    "writes to the saved": ruled(lambda g, x: x.data.mul_(2) * g),
    "counts back": ruled(lambda g, _: counting(g)),
    "of a module": lambda x: torch.nn.Linear(x.shape[-1], 2, dtype=x.dtype)(x),
}  # fmt: skip
"""Functions of one tensor, which other inputs do not take part in."""


@SETTINGS
@example(names=["logarithm", "empty"], inputs=torch.zeros(1, dtype=torch.float64), options={"budget": 0.5})
@given(names=names_of(ONE), inputs=inputs_of(tensors()), options=OPTIONS)
def test_nothing_but_a_report_comes_out(names: list[str], inputs: Any, options: Any) -> None:
    function = composed(ONE, names, lambda value: isinstance(value, torch.Tensor))
    assert_only_a_report(function, inputs, "torch", options)
