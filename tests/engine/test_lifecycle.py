"""Does the engine keep PyTorch's rules of when backward succeeds, what it adds up, and what it frees?"""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refgrad.engine as torch
from refgrad.engine import Tensor

SECOND_TIME = "Trying to backward through the graph a second time"


def leaf(*values: float) -> Tensor:
    return torch.tensor(values[0] if len(values) == 1 else list(values), requires_grad=True)


def test_only_what_leads_to_a_leaf_that_requires_grad_is_recorded() -> None:
    constant, x = torch.tensor(2.0), leaf(3.0)
    assert (constant * constant).grad_fn is None
    producer = (constant * x).grad_fn
    assert producer is not None
    assert producer.next_functions == ((None, 0), (x.node, 0))


def test_requires_grad_is_contagious_and_leaves_have_no_producer() -> None:
    x, constant = leaf(3.0), torch.tensor(2.0)
    y = constant + x
    assert (x.is_leaf, y.is_leaf, constant.is_leaf) == (True, False, True)
    assert (x.grad_fn, constant.grad_fn) == (None, None)
    assert y.requires_grad
    assert type(y.grad_fn).__name__ == "AddBackward0"


def test_a_backward_from_several_entries_without_a_seed_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (leaf(1.0, 2.0) * 2).backward()


def test_one_entry_of_any_shape_needs_no_seed() -> None:
    x = torch.ones(1, 1, requires_grad=True)
    (x * 3).backward()
    assert x.grad.tolist() == [[3.0]]


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1)])
def test_a_seed_of_another_shape_is_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match=r"^Mismatch in shape"):
        (leaf(1.0, 2.0) * 2).backward(torch.ones(shape))


def test_a_seed_of_another_dtype_is_converted() -> None:
    x = leaf(1.0, 2.0)
    (x * 2).backward(torch.tensor([1, 10]))
    assert x.grad.tolist() == [2.0, 20.0]
    assert x.grad.dtype == torch.float64


def test_a_seed_that_is_no_tensor_is_an_error() -> None:
    with pytest.raises(TypeError, match="gradients can be either Tensors or None"):
        (leaf(1.0) * 2).backward(2.0)


def test_backward_without_any_recorded_history_is_an_error() -> None:
    message = re.escape("element 0 of tensors does not require grad and does not have a grad_fn")
    with pytest.raises(RuntimeError, match=message):
        torch.tensor(1.0).backward()


def test_an_integer_leaf_cannot_require_grad() -> None:
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.tensor([1, 2], requires_grad=True)


def test_saved_values_are_freed_by_the_first_backward() -> None:
    y = torch.exp(leaf(1.0))
    y.backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        y.backward()


def test_nodes_that_saved_nothing_may_be_visited_again() -> None:
    x = leaf(1.0, 2.0)
    total = (x + x).sum()
    total.backward()
    total.backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_a_freed_shared_subgraph_is_an_error() -> None:
    x = leaf(1.0)
    shared = torch.exp(x)
    (shared * 2).backward()
    before = x.grad.item()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        (shared * 3).backward()
    assert x.grad.item() == before


def test_retaining_the_graph_leaves_it_usable_and_create_graph_retains_it() -> None:
    x = leaf(2.0)
    y = x * x * x
    y.backward(retain_graph=True)
    y.backward(create_graph=True)
    y.backward()
    assert x.grad.item() == 36.0


def test_gradients_accumulate_until_zeroed() -> None:
    x = leaf(2.0, 3.0)
    for expected in ([4.0, 6.0], [8.0, 12.0]):
        (x * x).sum().backward()
        assert x.grad.tolist() == expected
    x.grad.zero_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_an_unused_leaf_keeps_no_gradient() -> None:
    x, unused = leaf(1.0), leaf(1.0)
    (x * 2).backward()
    assert unused.grad is None


def test_gradients_share_memory_with_nothing() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seed = torch.ones(2)
    (x + y).backward(seed)
    seed.fill_(9.0)
    x.grad.mul_(5.0)
    assert (x.grad.tolist(), y.grad.tolist()) == ([5.0, 5.0], [1.0, 1.0])


def test_recorded_gradients_are_tensors_of_their_own() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x + y).sum().backward(create_graph=True)
    assert x.grad is not y.grad
    with torch.no_grad():
        x.grad.zero_()
    assert y.grad.tolist() == [1.0, 1.0]


def test_the_gradient_of_a_leaf_alone_is_its_seed_but_not_the_same_memory() -> None:
    x, seed = leaf(1.0, 2.0), torch.tensor([3.0, 4.0])
    x.backward(seed)
    seed.zero_()
    assert x.grad.tolist() == [3.0, 4.0]


def test_a_failing_backward_changes_no_gradient() -> None:
    x, y = leaf(1.0), leaf(2.0)
    z = x * 2 + torch.exp(y)

    def fail(_gradient: Tensor) -> None:
        raise ValueError("on purpose")

    y.register_hook(fail)
    with pytest.raises(ValueError, match="on purpose"):
        z.backward()
    assert (x.grad, y.grad) == (None, None)


def test_an_argument_used_twice_counts_twice() -> None:
    x = leaf(3.0)
    (x * x + x).backward()
    assert x.grad.item() == 7.0


def test_a_graph_that_doubles_sixty_times_is_walked_once_per_node() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60


def test_backward_limited_to_inputs_leaves_other_leaves_alone() -> None:
    x, y = leaf(1.0), leaf(2.0)
    torch.autograd.backward(x * y, inputs=[x])
    assert (x.grad.item(), y.grad) == (2.0, None)


def test_backward_limited_to_a_computed_tensor_fills_its_gradient() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    torch.autograd.backward((y * y).sum(), inputs=[y])
    assert (y.grad.tolist(), x.grad) == ([6.0, 12.0], None)


def test_several_outputs_add_up_in_one_backward() -> None:
    x = leaf(2.0)
    torch.autograd.backward([x * x, x * 3], [torch.tensor(1.0), torch.tensor(10.0)])
    assert x.grad.item() == 34.0


def test_grad_returns_gradients_and_touches_no_leaf() -> None:
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    by_x, by_z = torch.grad(z * z, [x, z], retain_graph=True)
    assert (by_x.item(), by_z.item()) == (36.0, 12.0)
    assert (x.grad, y.grad) == (None, None)
    assert isinstance(torch.grad(z, x), tuple)


def test_grad_frees_only_what_leads_to_its_inputs() -> None:
    x, y = leaf(2.0), leaf(3.0)
    a, b = torch.exp(x), torch.exp(y)
    z = a + b
    torch.grad(z, a)
    z.backward()
    assert x.grad.item() == pytest.approx(np.exp(2.0))


def test_grad_of_an_unused_input_is_an_error_or_none() -> None:
    x, unused = leaf(2.0), leaf(3.0)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.grad(x * 2, [x, unused])
    gradient, nothing = torch.grad(x * 2, [x, unused], allow_unused=True)
    assert (gradient.item(), nothing) == (2.0, None)


def test_grad_of_an_input_that_does_not_require_grad_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        torch.grad(leaf(2.0) * 2, torch.tensor(1.0))


def test_detaching_cuts_the_graph_and_shares_memory() -> None:
    x = leaf(2.0, 3.0)
    y = x * 2
    cut = y.detach()
    assert not cut.requires_grad
    (cut * x).sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]
    cut[0] = 100.0
    assert y.tolist() == [100.0, 6.0]


def test_freezing_a_leaf_keeps_its_gradient() -> None:
    x = leaf(2.0)
    (x * x).backward()
    x.requires_grad = False
    assert (x.grad.item(), (x * x).requires_grad) == (4.0, False)
    x.requires_grad_()
    (x * x).backward()
    assert x.grad.item() == 8.0


def test_a_computed_tensor_cannot_stop_requiring_grad() -> None:
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        (leaf(1.0) * 2).requires_grad_(requires_grad=False)


def test_an_assigned_gradient_has_to_fit() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="shape and dtype"):
        x.grad = torch.ones(3)
    x.grad = torch.ones(2)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    del x.grad
    assert x.grad is None


def test_numpy_refuses_a_tensor_that_requires_grad() -> None:
    with pytest.raises(RuntimeError, match=re.escape("Can't call numpy() on Tensor that requires grad")):
        leaf(1.0).numpy()


@given(
    weights=st.lists(st.integers(-5, 5), min_size=1, max_size=6),
    chunks=st.integers(1, 4),
)
def test_several_backward_calls_add_up_to_one(weights: list[int], chunks: int) -> None:
    x, y = leaf(0.5, -1.5), leaf(0.5, -1.5)
    terms = [torch.tanh(x * weight) for weight in weights]
    others = [torch.tanh(y * weight) for weight in weights]
    for start in range(0, len(terms), chunks):
        sum(terms[start : start + chunks], torch.zeros(2)).sum().backward()
    sum(others, torch.zeros(2)).sum().backward()
    assert torch.allclose(x.grad, y.grad, rtol=1e-12, atol=1e-12)


@given(seed=st.lists(st.floats(-10, 10), min_size=3, max_size=3), factor=st.floats(-10, 10))
def test_gradients_are_linear_in_the_seed(seed: list[float], factor: float) -> None:
    x = torch.tensor([0.3, -0.7, 1.1], requires_grad=True)
    y = torch.sigmoid(x * x.sum())
    (first,) = torch.grad(y, x, torch.tensor(seed), retain_graph=True)
    (scaled,) = torch.grad(y, x, torch.tensor(seed) * factor)
    assert torch.allclose(scaled, first * factor, rtol=1e-9, atol=1e-9)


def test_a_leaf_receives_nothing_while_it_does_not_require_grad() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    x.requires_grad = False
    y.backward(retain_graph=True)
    before = x.grad
    x.requires_grad_()
    y.backward()
    assert before is None
    assert x.grad.item() == 3.0
