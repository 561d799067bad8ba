"""Do tutorials written for PyTorch give what their authors print, with nothing changed but the import?"""

import math

import pytest

import refgrad.engine as torch


def test_a_product_and_a_logarithm_at_two_and_three() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    z = x * y + torch.log(x)
    assert str(z) == "tensor(6.6931, grad_fn=<AddBackward0>)"
    z.backward()
    print_of_gradients = f"dz/dx: {x.grad}, dz/dy: {y.grad}"
    assert print_of_gradients == "dz/dx: tensor(3.5000), dz/dy: tensor(2.)"


@pytest.mark.parametrize("retained_first", [True, False])
@pytest.mark.parametrize("retained_second", [True, False])
def test_two_losses_on_one_square_need_the_graph_retained_once(*, retained_first: bool, retained_second: bool) -> None:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = a**2 * 2
    mean, total = b.mean(), b.sum()
    mean.backward(retain_graph=retained_first)
    assert str(a.grad) == "tensor([1.3333, 2.6667, 4.0000])"
    if retained_first:
        total.backward(retain_graph=retained_second)
        assert str(a.grad) == "tensor([ 5.3333, 10.6667, 16.0000])"
    else:
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            total.backward(retain_graph=retained_second)
        assert str(a.grad) == "tensor([1.3333, 2.6667, 4.0000])"


def test_an_intermediate_made_before_the_loop_can_be_used_in_one_iteration_only() -> None:
    torch.manual_seed(0)
    t = torch.randn(3, 4)
    a = torch.randn(4, requires_grad=True)
    y = t @ a
    losses = []
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time") as error:  # noqa: PT012
        for _ in range(2):
            loss = y.sum()
            losses.append(loss.item())
            loss.backward()
    assert len(losses) == 2
    assert "retain_graph=True" in str(error.value)


def test_recomputing_the_intermediate_in_every_iteration_works() -> None:
    torch.manual_seed(0)
    t = torch.randn(3, 4)
    a = torch.randn(4, requires_grad=True)
    for iteration in range(2):
        y = t @ a
        y.sum().backward()
        assert torch.allclose(a.grad, (iteration + 1) * t.sum(0))


def test_five_backward_calls_accumulate_and_deleting_a_name_changes_nothing() -> None:
    a = torch.tensor(1.0, requires_grad=True)
    b = a**2
    c = b + 0
    seen = []
    for _ in range(5):
        c.backward(retain_graph=True)
        seen.append(a.grad.item())
    assert seen == [2, 4, 6, 8, 10]
    del b
    for _ in range(3):
        c.backward(retain_graph=True)
        seen.append(a.grad.item())
    assert seen[5:] == [12, 14, 16]


def test_a_backward_from_several_entries_needs_a_seed() -> None:
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    b = torch.tensor([6.0, 4.0], requires_grad=True)
    d = 3 * a**3 - b**2
    loss = 10 - d
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        loss.backward()
    loss.sum().backward(retain_graph=True)
    assert str(a.grad) == "tensor([-36., -81.])"
    assert str(b.grad) == "tensor([12.,  8.])"
    a.grad, b.grad = None, None
    loss.backward(gradient=torch.ones_like(loss))
    assert str(a.grad) == "tensor([-36., -81.])"
    assert str(b.grad) == "tensor([12.,  8.])"


def test_linear_regression_recovers_its_line() -> None:
    x = torch.linspace(0, 1, 50)
    y = 2 * x + 1
    w = torch.zeros(1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    learning_rate = 0.5
    for _ in range(500):
        loss = ((w * x + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= learning_rate * w.grad
            b -= learning_rate * b.grad
            w.grad.zero_()
            b.grad.zero_()
    assert str(w) == "tensor([2.0000], requires_grad=True)"
    assert f"{w.item():.3f} {b.item():.3f}" == "2.000 1.000"


def test_gradients_accumulated_over_chunks_equal_those_of_the_full_batch() -> None:
    torch.manual_seed(1)
    x, y = torch.randn(12, 3), torch.randn(12)
    w = torch.randn(3, requires_grad=True)
    ((x @ w - y) ** 2).mean().backward()
    full = w.grad.clone()
    w.grad = None
    for start in range(0, 12, 4):
        chunk = slice(start, start + 4)
        loss = ((x[chunk] @ w - y[chunk]) ** 2).mean() / 3
        loss.backward()
    assert torch.allclose(w.grad, full, rtol=1e-12)


def test_partial_derivatives_of_a_function_of_two_variables() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    f = x**2 + y**3 - torch.sin(x * y)
    f.backward()
    assert x.grad.item() == pytest.approx(2 * 2 - 3 * math.cos(6), rel=1e-15)
    assert y.grad.item() == pytest.approx(3 * 9 - 2 * math.cos(6), rel=1e-15)
    assert str(x.grad) == "tensor(1.1195)"
    assert str(y.grad) == "tensor(25.0797)"


def test_the_first_example_of_most_tutorials() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    y = x + 2
    z = y * y * 3
    out = z.mean()
    assert str(y.grad_fn).startswith("<AddBackward0 object at 0x")
    assert str(z) == "tensor([[27., 27.],\n        [27., 27.]], grad_fn=<MulBackward0>)"
    assert str(out) == "tensor(27., grad_fn=<MeanBackward0>)"
    out.backward()
    assert str(x.grad) == "tensor([[4.5000, 4.5000],\n        [4.5000, 4.5000]])"
