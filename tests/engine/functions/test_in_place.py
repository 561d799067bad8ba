"""Is a gradient right, or refused, whatever is overwritten, and through whichever alias?"""

from typing import Any

import numpy as np
import pytest

import refgrad.engine as torch
from refgrad.engine import Tensor
from tests.effort import each

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def leaf(*values: float) -> Tensor:
    return torch.tensor(list(values), requires_grad=True)


@pytest.mark.parametrize("method", ["__iadd__", "add_", "mul_", "sub_", "div_", "fill_", "copy_"])
def test_a_leaf_that_requires_grad_is_not_overwritten_while_recording(method: str) -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(
        RuntimeError, match=r"^a leaf Variable that requires grad is being used in an in-place operation\."
    ):
        getattr(x, method)(torch.ones(2))
    assert (x.tolist(), x._version) == ([1.0, 2.0], 0)  # noqa: SLF001 (PyTorch's name)


def test_an_entry_of_a_leaf_is_not_overwritten_while_recording() -> None:
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf(1.0, 2.0)[0] = 3.0


def test_a_leaf_may_be_overwritten_without_recording() -> None:
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        x -= 1.0
        x[0] = 7.0
    assert (x.tolist(), x.is_leaf, x.requires_grad, x._version) == ([7.0, 1.0], True, True, 2)  # noqa: SLF001 (PyTorch's name)


def test_a_number_that_overwrites_an_entry_receives_its_gradient() -> None:
    x, constant = leaf(1.0, 2.0), torch.ones(2)
    y = x * 2
    y[0] = 5.0
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 2.0]
    constant[0] = 5.0
    assert (constant.tolist(), constant.grad_fn) == ([5.0, 1.0], None)
    constant[0] = x[1]
    constant.sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]


def test_a_computed_tensor_moves_to_the_new_place_in_the_graph() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    y += 1
    y *= x
    assert type(y.grad_fn).__name__ == "MulBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 9.0]


def test_an_in_place_product_saves_the_old_value() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * 2
    y *= w
    y.sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([6.0, 8.0], [2.0, 4.0])


@pytest.mark.parametrize("operator", [torch.exp, torch.tanh, torch.sqrt, torch.square])
def test_a_saved_value_that_was_overwritten_is_an_error(operator: object) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    z = operator(y)  # type: ignore[operator]
    (y if operator is torch.square else z).add_(1.0)
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()
    assert x.grad is None


def test_a_value_that_was_not_saved_may_be_overwritten() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y + 1
    y.zero_()
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("alias", [lambda y: y.detach(), lambda y: y.data])
def test_a_write_through_an_alias_is_noticed(alias: object) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    z = torch.square(y)
    alias(y).zero_()  # type: ignore[operator]
    assert y.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()


def test_a_scalar_is_shared_with_its_alias_too() -> None:
    y = torch.tensor(2.0)
    alias = y.detach()
    y += 1
    assert (alias.item(), alias._version, y._version) == (3.0, 1, 1)  # noqa: SLF001 (PyTorch's name)


def test_a_leaf_overwritten_after_use_is_an_error() -> None:
    x = leaf(1.0, 2.0)
    z = x * x
    with torch.no_grad():
        x += 1
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()


def test_the_message_says_who_needed_what_and_what_to_do() -> None:
    x = leaf(1.0)
    y = torch.exp(x)
    y += 1
    with pytest.raises(RuntimeError, match=r"ExpBackward0 needs its own output.* version 1.*x = x \+ 1"):
        y.sum().backward()
    z = y.detach().clone().requires_grad_()
    product = torch.multiply(z, z)
    with torch.no_grad():
        z += 1
    with pytest.raises(RuntimeError, match=r"MulBackward0 needs its argument x.* version 1"):
        product.sum().backward()


def test_an_output_saved_by_an_in_place_operator_is_guarded() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    y.exp_()
    y.mul_(2.0)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()
    y = x * 1
    y.exp_()
    (y + 1).sum().backward()
    assert x.grad.tolist() == pytest.approx([np.e, np.e**2])


def test_indexing_and_reshaping_give_copies() -> None:
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 2
    part, other = y[:2], y.reshape(2, 2)
    part.mul_(10.0)
    other.zero_()
    assert y.tolist() == [2.0, 4.0, 6.0, 8.0]
    (y.sum() + part.sum()).backward()
    assert x.grad.tolist() == [22.0, 22.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("index", "value", "by_x", "by_value"),
    [
        (0, [5.0, 6.0], [[0.0, 0.0], [2.0, 2.0], [2.0, 2.0]], [1.0, 10.0]),
        ((slice(None, None, -2), 1), [5.0, 6.0], [[2.0, 0.0], [2.0, 2.0], [2.0, 0.0]], [100000.0, 10.0]),
        (([1, 1],), [[5.0, 6.0], [7.0, 8.0]], [[2.0, 2.0], [0.0, 0.0], [2.0, 2.0]], [[0.0, 0.0], [100.0, 1000.0]]),
        ((np.array([True, False, True]),), 5.0, [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]], 110011.0),
        (..., 5.0, [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], 111111.0),
    ],
)
def test_a_written_entry_passes_its_gradient_to_what_was_written(
    index: Any, value: Any, by_x: Any, by_value: Any
) -> None:
    x = torch.zeros(3, 2, requires_grad=True)
    source = torch.tensor(value, requires_grad=True)
    y = x * 2
    y[index] = source
    expected = np.zeros((3, 2))
    expected[index] = np.asarray(value)
    assert y.tolist() == expected.tolist()
    weights = torch.tensor([[1.0, 10.0], [100.0, 1000.0], [10000.0, 100000.0]])
    (y * weights).sum().backward()
    assert x.grad.tolist() == (np.asarray(by_x) * np.asarray(weights)).tolist()
    assert source.grad.tolist() == by_value


def test_writing_entries_is_differentiable_twice() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    y[0] = x[1] ** 3
    (gradient,) = torch.grad((y * y).sum(), x, create_graph=True)
    (second,) = torch.grad(gradient.sum(), x)
    assert gradient.tolist() == [0.0, 6 * 2.0**5 + 4.0]
    assert second.tolist() == [0.0, 30 * 2.0**4 + 2.0]


def test_a_result_of_another_shape_or_larger_dtype_is_refused() -> None:
    y = torch.ones(2)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        y += torch.ones(3, 2)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.tensor([1, 2]).add_(0.5)
    assert y.tolist() == [1.0, 1.0]


def test_filling_cuts_the_gradient_of_the_old_value_and_passes_that_of_the_new() -> None:
    x, source = leaf(1.0, 2.0), leaf(3.0)
    y = x * 2
    y.zero_()
    z = x * 3
    z.copy_(source)
    (y + z).sum().backward()
    assert (y.tolist(), z.tolist()) == ([0.0, 0.0], [3.0, 3.0])
    assert (x.grad.tolist(), source.grad.tolist()) == ([0.0, 0.0], [2.0])


def test_a_constant_becomes_computed_when_something_computed_is_added() -> None:
    x, total = leaf(1.0, 2.0), torch.zeros(2)
    total += x * 3
    assert not total.is_leaf
    total.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_detaching_in_place_forgets_the_history() -> None:
    y = leaf(1.0) * 2
    y.detach_()
    assert (y.requires_grad, y.is_leaf) == (False, True)


def test_assigning_data_replaces_the_memory_but_not_what_was_saved() -> None:
    x = leaf(1.0, 2.0)
    z = (x * x).sum()
    x.data = torch.tensor([10.0, 20.0])
    z.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert x.requires_grad


def test_a_retained_gradient_follows_the_overwritten_tensor() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y *= 3
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5.0]


def test_a_retained_gradient_is_not_lost_by_a_write() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    y *= 3
    assert y.grad.tolist() == [1.0]
    y.sum().backward()
    assert y.grad.tolist() == [2.0]


@pytest.mark.parametrize("values", [(2.0,), (1.0, 2.0)])
def test_what_a_write_needs_of_the_memory_that_it_overwrites_is_found_to_be_gone(values: tuple[float, ...]) -> None:
    y = leaf(*values).sum() * 1.0
    y *= y
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()
    z = leaf(*values) * 1.0
    z *= z.detach()
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()


def test_a_part_takes_only_what_fits() -> None:
    y = leaf(1.0, 2.0) * 1.0
    with pytest.raises(RuntimeError, match=r"output with shape \[\] doesn't match the broadcast shape \[2\]"):
        y[0] = torch.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        y.copy_(torch.tensor([1.0, 2.0, 3.0]))
    y[:1] = torch.tensor([[3.0]])
    assert y.tolist() == [3.0, 2.0]


def test_leading_axes_of_length_one_of_what_is_written_are_dropped() -> None:
    x = torch.tensor([[[3.0, 4.0]]], requires_grad=True)
    y = torch.zeros(2, 2)
    y[1] = x
    assert y.tolist() == [[0.0, 0.0], [3.0, 4.0]]
    (y * torch.tensor([[1.0, 2.0], [5.0, 7.0]])).sum().backward()
    assert x.grad.tolist() == [[[5.0, 7.0]]]


@each("length", [(), (1,), (2,), (3,), (1, 3), (2, 1), (2, 2), (2, 3), (1, 1, 3), (2, 2, 3)])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1), (2, 3)])
def test_what_numpy_cannot_assign_is_refused(shape: tuple[int, ...], length: tuple[int, ...]) -> None:
    target, value = torch.zeros(shape), torch.ones(length)
    try:
        np.zeros(shape)[...] = np.ones(length)
    except ValueError:
        with pytest.raises(RuntimeError, match="shape"):
            target[...] = value
    else:
        target[...] = value
        assert target.numpy().all()
