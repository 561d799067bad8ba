"""Does a hook see the total gradient once, and can it replace it?"""

import pytest

import refgrad.engine as torch


def test_a_hook_fires_once_with_the_total() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    seen: list[float] = []
    y.register_hook(lambda gradient: seen.append(gradient.item()))
    x.register_hook(lambda gradient: seen.append(gradient.item()))
    (y * y + y + y).backward()
    assert seen == [14.0, 42.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_what_a_hook_returns_replaces_the_gradient(*, create_graph: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda gradient: gradient * 10)
    y.register_hook(lambda gradient: gradient + 1)
    x.register_hook(lambda gradient: -gradient)
    y.sum().backward(create_graph=create_graph)
    assert x.grad.tolist() == [-33.0, -33.0]


def test_a_removed_hook_is_not_called() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    handle = x.register_hook(lambda gradient: gradient * 100)
    with x.register_hook(lambda gradient: gradient * 10):
        (x * 1).backward()
    handle.remove()
    handle.remove()
    (x * 1).backward()
    assert x.grad.item() == 1001.0


def test_the_handle_of_a_hook_is_the_target_of_its_context() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with x.register_hook(lambda gradient: gradient * 10) as handle:
        handle.remove()
        (x * 1).backward()
    assert x.grad.item() == 1.0


def test_removing_a_hook_again_leaves_later_ones_alone() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    first = x.register_hook(lambda gradient: gradient * 10)
    first.remove()
    x.register_hook(lambda gradient: gradient * 100)
    first.remove()
    (x * 1).backward()
    assert x.grad.item() == 100.0


def test_a_hook_also_sees_what_grad_returns() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    x.register_hook(lambda gradient: gradient * 2)
    (gradient,) = torch.grad(x * 3, x)
    assert gradient.item() == 6.0


def test_a_hook_that_returns_another_shape_is_an_error() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda gradient: gradient.sum())
    with pytest.raises(RuntimeError, match="the gradient that a hook returned is"):
        (x * 3).sum().backward()
    assert x.grad is None


def test_what_a_hook_keeps_is_not_the_memory_of_the_gradient() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    kept: list[torch.Tensor] = []
    x.register_hook(kept.append)
    (x * 3).sum().backward()
    x.grad.zero_()
    assert kept[0].tolist() == [3.0, 3.0]


def test_what_a_hook_returned_is_not_the_memory_of_the_gradient() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    answer = torch.tensor([5.0, 7.0])
    x.register_hook(lambda _gradient: answer)
    (x * 3).sum().backward()
    answer.zero_()
    assert x.grad.tolist() == [5.0, 7.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_that_is_kept_shares_no_memory_with_those_behind_it(*, create_graph: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x + torch.tensor([0.0, 0.0])
    y.retain_grad()
    (y * 3).sum().backward(create_graph=create_graph)
    with torch.no_grad():
        y.grad.zero_()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_gradient_that_is_kept_is_not_the_seed() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    seed = torch.tensor([1.0, 1.0])
    y.backward(seed)
    y.grad.zero_()
    assert seed.tolist() == [1.0, 1.0]


def test_a_computed_tensor_keeps_its_gradient_only_if_asked() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y, z = x * 3, x * 5
    y.retain_grad()
    x.retain_grad()
    (y * z).backward()
    assert (y.grad.item(), z.grad) == (10.0, None)
    assert (y.retains_grad, z.retains_grad, x.retains_grad) == (True, False, False)


def test_what_hooks_compute_is_recorded_only_if_the_gradient_is() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    modes: list[bool] = []
    x.register_hook(lambda _gradient: modes.append(torch.is_grad_enabled()))
    (x * x).backward()
    with torch.no_grad():
        y = torch.tensor(1.0)
    (x * x + y).backward(create_graph=True)
    assert modes == [False, True]
    assert torch.is_grad_enabled()


def test_a_tensor_without_gradient_takes_no_hook() -> None:
    constant = torch.tensor(1.0)
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        constant.register_hook(lambda gradient: gradient)
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        constant.retain_grad()
