"""Does a tensor print as in PyTorch with float64 as its default dtype?"""

import pytest

import refgrad.engine as torch
from tests.effort import each

EXPECTED = [
    (torch.tensor([2.0, 4.0]), "tensor([2., 4.])"),
    (torch.tensor(3.5), "tensor(3.5000)"),
    (torch.tensor(3), "tensor(3)"),
    (torch.tensor([1.0, 2.0], requires_grad=True), "tensor([1., 2.], requires_grad=True)"),
    (torch.tensor([1.5, -20.25]), "tensor([  1.5000, -20.2500])"),
    (torch.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
    (torch.tensor(1e9), "tensor(1.0000e+09)"),
    (torch.tensor([1.0, float("nan"), float("-inf")]), "tensor([1., nan, -inf])"),
    (torch.tensor([0.1, float("inf")]), "tensor([0.1000,    inf])"),
    (torch.tensor([1.0, 2.0], dtype=torch.float32), "tensor([1., 2.], dtype=torch.float32)"),
    (torch.tensor([True, False]), "tensor([ True, False])"),
    (torch.tensor([-1, 10]), "tensor([-1, 10])"),
    (torch.zeros(0), "tensor([])"),
    (torch.zeros(0, 3), "tensor([], size=(0, 3))"),
    (torch.eye(2), "tensor([[1., 0.],\n        [0., 1.]])"),
    (torch.zeros(1, 1, 2), "tensor([[[0., 0.]]])"),
    (torch.zeros(2, 1, 2), "tensor([[[0., 0.]],\n\n        [[0., 0.]]])"),
]


@each(("tensor", "text"), EXPECTED)
def test_a_tensor_prints_as_in_pytorch(tensor: torch.Tensor, text: str) -> None:
    assert repr(tensor) == text


def test_a_computed_tensor_names_the_node_that_computed_it() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    assert repr(x * y + torch.log(x) + torch.tensor(0.4055)) == "tensor(7.0986, grad_fn=<AddBackward0>)"
    assert [repr(z) for z in (x * y, 2 - x, x**2, -x, x / y)] == [
        "tensor(6., grad_fn=<MulBackward0>)",
        "tensor(0., grad_fn=<SubBackward0>)",
        "tensor(4., grad_fn=<PowBackward0>)",
        "tensor(-2., grad_fn=<NegBackward0>)",
        "tensor(0.6667, grad_fn=<DivBackward0>)",
    ]


def test_long_rows_are_broken_and_large_tensors_summarized() -> None:
    assert repr(torch.arange(30)) == (
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])"
    )
    assert repr(torch.arange(2000)) == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"


@pytest.mark.parametrize(("rows", "left_out"), [(6, False), (7, True)])
def test_of_seven_rows_and_more_the_middle_is_left_out(rows: int, *, left_out: bool) -> None:
    lines = [line.strip() for line in repr(torch.zeros(rows, 200)).splitlines()]
    assert ("...," in lines) is left_out
    assert len(lines) == 6 + left_out


@pytest.mark.engines
def test_any_shape_prints_as_in_pytorch() -> None:
    pytorch = pytest.importorskip("torch", reason="compares with PyTorch: pip install 'refgrad[torch]'")
    pytorch.set_default_dtype(pytorch.float64)
    torch.manual_seed(3)
    try:
        for shape in [(3,), (2, 3), (2, 2, 2), (40,), (1200,), (40, 40), (7, 1), (3, 0)]:
            for scale in (1.0, 1e-6, 1e5):
                values = torch.randn(*shape) * scale
                assert repr(values) == repr(pytorch.from_numpy(values.numpy()))
                whole = torch.tensor((values.numpy() * 10).round())
                assert repr(whole) == repr(pytorch.from_numpy(whole.numpy()))
        for length in range(1, 40):
            leaf = torch.ones(length, requires_grad=True)
            assert repr(leaf) == repr(pytorch.from_numpy(leaf.detach().numpy()).requires_grad_())
    finally:
        pytorch.set_default_dtype(pytorch.float32)
