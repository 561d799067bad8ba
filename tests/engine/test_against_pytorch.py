"""Do small programs do in the engine what they do in PyTorch: the same numbers, or the same error at the same step?"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import refgrad.engine as reference
from tests.effort import each

pytestmark = pytest.mark.engines

Program = Callable[[Any], Iterator[Any]]


@pytest.fixture(scope="module")
def pytorch() -> Iterator[Any]:
    torch = pytest.importorskip("torch", reason="compares with PyTorch: pip install 'refgrad[torch]'")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield torch
    torch.set_default_dtype(before)


def observations(program: Program, torch: Any) -> list[Any]:
    """What a program yields, step by step: values as lists, and the error that ends it by its first words."""
    seen: list[Any] = []
    try:
        seen.extend(plain(value) for value in program(torch))
    except (RuntimeError, TypeError) as error:
        seen.append((type(error).__name__, " ".join(str(error).split()[:4])))
    return seen


def plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values) if len(values) > 1 else values[0], requires_grad=True)


def second_backward_of_a_product(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0)
    y = x * x
    y.backward()
    yield x.grad
    y.backward()
    yield x.grad


def second_backward_of_a_sum(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    y = (x + x - 1).sum()
    y.backward()
    y.backward()
    yield x.grad


def two_losses_share_a_part_that_saves(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0)
    shared = torch.exp(x)
    (shared + 1).backward()
    yield x.grad
    (shared + 2).backward()
    yield x.grad


def two_losses_share_a_part_that_saves_nothing(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0)
    shared = x + 1
    (shared * 3).backward()
    (shared * 4).backward()
    yield x.grad


def a_partial_failure_leaves_other_leaves(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    yield x.grad
    y.backward()


def no_seed_for_a_vector(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    (x * 2).backward()
    yield x.grad


def a_seed_of_one_entry_for_a_vector(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    (x * 2).backward(torch.ones(1))
    yield x.grad


def a_seed_for_a_vector(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    (x * 2).backward(torch.tensor([1.0, -1.0]))
    yield x.grad


def a_float32_seed(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    (x * 2).backward(torch.tensor([1.0, -1.0], dtype=torch.float32))
    yield x.grad, str(x.grad.dtype).rpartition(".")[2]


def backward_of_a_constant(torch: Any) -> Iterator[Any]:
    yield torch.tensor(1.0).backward()


def backward_of_a_leaf(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0)
    x.backward()
    x.backward()
    yield x.grad


def an_integer_leaf(torch: Any) -> Iterator[Any]:
    yield torch.tensor([1], requires_grad=True)


def a_leaf_written_while_recording(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    x += 1
    yield x


def a_leaf_written_without_recording(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    with torch.no_grad():
        x += 1
        x[0] = 5.0
    yield x, x._version, x.is_leaf  # noqa: SLF001 (PyTorch's name)


def a_saved_argument_overwritten(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    y = x * 2
    z = (y * y).sum()
    y += 1
    yield y
    z.backward()


def a_saved_output_overwritten(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    y = torch.exp(x)
    y += 1
    yield y
    y.sum().backward()


def an_unsaved_output_overwritten(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    y = torch.sin(x)
    y *= 2
    y -= x
    y.sum().backward()
    yield y, x.grad, y._version  # noqa: SLF001 (PyTorch's name)


def an_overwrite_through_detach(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    y = x * 2
    z = (y * y).sum()
    y.detach().zero_()
    yield y
    z.backward()


def an_in_place_product_of_two_leaves_products(torch: Any) -> Iterator[Any]:
    x, w = leaf(torch, 2.0, 3.0), leaf(torch, 4.0, 5.0)
    y = x * 1
    y *= w
    y /= x
    y.sum().backward()
    yield x.grad, w.grad, type(y.grad_fn).__name__


def an_entry_written(torch: Any) -> Iterator[Any]:
    x, value = leaf(torch, 2.0, 3.0, 4.0), leaf(torch, 10.0)
    y = x * x
    y[1] = value * 2
    y[2:] = 7.0
    (y * y).sum().backward()
    yield y, x.grad, value.grad


def a_zeroed_intermediate(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    y = x * 2
    y.zero_()
    yield y.requires_grad
    (y + x).sum().backward()
    yield x.grad


def grad_of_inputs(torch: Any) -> Iterator[Any]:
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    z = x * y
    yield torch.autograd.grad(z * z, [x, z]), x.grad
    yield torch.autograd.grad(z, y)


def grad_of_an_unused_input(torch: Any) -> Iterator[Any]:
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    yield torch.autograd.grad(x * 2, [x, y], allow_unused=True)
    yield torch.autograd.grad(x * 2, [x, y])


def grad_of_a_constant(torch: Any) -> Iterator[Any]:
    yield torch.autograd.grad(leaf(torch, 2.0) * 2, torch.tensor(1.0))


def third_derivatives(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 0.7)
    y = torch.sin(x) * x**3 + torch.exp(-x * x)
    for _ in range(3):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        yield y, y.requires_grad


def a_penalty_on_the_gradient(torch: Any) -> Iterator[Any]:
    w, x = leaf(torch, 0.5, -0.3), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    loss = torch.tanh(x @ w).sum()
    (gradient,) = torch.autograd.grad(loss, w, create_graph=True)
    (loss + (gradient**2).sum()).backward()
    yield w.grad, w.grad.requires_grad


def backward_that_records(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0)
    y = x**3
    y.backward(create_graph=True)
    gradient = x.grad
    x.grad = None
    gradient.backward()
    yield x.grad, gradient


def retained_and_hooked(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0, 3.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda gradient: gradient * 10)
    handle = x.register_hook(lambda gradient: gradient + 1)
    (y * y).sum().backward()
    yield x.grad, y.grad
    handle.remove()
    (x * 1).sum().backward()
    yield x.grad


def freezing(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0)
    (x * x).backward()
    x.requires_grad = False
    yield x.grad, (x * 2).requires_grad
    x.requires_grad = True
    y = x * 2
    y.requires_grad = False


def detached_pieces(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0)
    y = x * x
    z = y.detach() * x
    z.backward()
    yield x.grad, y.detach().requires_grad, y.detach().is_leaf
    y.backward()
    yield x.grad


def flags_and_nodes(torch: Any) -> Iterator[Any]:
    x, c = leaf(torch, 2.0), torch.tensor(3.0)
    y = torch.exp(x * c) - x
    yield x.is_leaf, y.is_leaf, c.is_leaf, c.requires_grad, y.requires_grad
    first, second = y.grad_fn.next_functions
    yield type(y.grad_fn).__name__, type(first[0]).__name__, type(second[0]).__name__
    ((product, _),) = first[0].next_functions
    yield [None if node is None else type(node).__name__ for node, _ in product.next_functions]


def ends(node: Any) -> Iterator[Any]:
    """The nodes where gradients arrive, in the order in which a walker of `grad_fn` meets them."""
    if node is not None:
        if hasattr(node, "variable"):
            yield node
        for earlier, _ in node.next_functions:
            yield from ends(earlier)


def leaves_at_the_ends_of_a_graph(torch: Any) -> Iterator[Any]:
    x, w = leaf(torch, 2.0, 3.0), leaf(torch, 4.0)
    y = (torch.exp(x) * w - x).sum()
    met = [node.variable for node in ends(y.grad_fn)]
    yield [[variable is leaf for leaf in (x, w)] for variable in met], hasattr(y.grad_fn, "variable")
    y.backward()
    yield [variable.grad for variable in met]


def a_leaf_that_only_its_graph_remembers(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0)
    y = x * x
    with torch.no_grad():
        x += 1
    (end, *_) = ends(y.grad_fn)
    del x
    yield end.variable, end.variable.is_leaf, end.variable.requires_grad, end.variable is end.variable
    end.variable.grad = torch.tensor(5.0)
    (end.variable * 3).backward()
    yield end.variable.grad


def the_end_of_a_leaf_that_was_frozen_and_given_other_data(torch: Any) -> Iterator[Any]:
    x = leaf(torch, 2.0)
    (end, *_) = ends((x * 1).grad_fn)
    x.data = torch.tensor([7.0, 8.0])
    x.requires_grad = False
    yield end.variable is x
    del x
    yield end.variable, end.variable.requires_grad


def mixed_dtypes(torch: Any) -> Iterator[Any]:
    x = torch.tensor([1.5, 2.5], dtype=torch.float32, requires_grad=True)
    y = torch.tensor([1.0, 2.0], requires_grad=True)
    z = (x * y).sum() + x.double().sum()
    z.backward()
    yield [str(t.dtype).rpartition(".")[2] for t in (z, x.grad, y.grad)], x.grad, y.grad


def scalars_of_mixed_dtypes(torch: Any) -> Iterator[Any]:
    x = torch.tensor(1.5, dtype=torch.float32, requires_grad=True)
    y = x * x * 2.0
    y.backward()
    yield str(y.dtype).rpartition(".")[2], str(x.grad.dtype).rpartition(".")[2], x.grad


def numpy_of_a_computed_tensor(torch: Any) -> Iterator[Any]:
    yield leaf(torch, 2.0).detach().numpy()
    yield leaf(torch, 2.0).numpy()


def matrix_calculus(torch: Any) -> Iterator[Any]:
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    b = torch.tensor([1.0, -1.0], requires_grad=True)
    y = torch.cat([a @ b, (a.T * b).sum(dim=1), a.reshape(-1)[1:3].max().reshape(1)]).clamp(min=0.0)
    y = torch.stack([y, y.flip(0)], dim=1).mean(dim=0, keepdim=True).squeeze(0)
    torch.where(y > 1.0, y, y * y).prod().backward()
    yield y, a.grad, b.grad


def a_training_loop(torch: Any) -> Iterator[Any]:
    x = torch.linspace(-1, 1, 8).reshape(8, 1)
    w1 = torch.linspace(-1, 1, 4).reshape(1, 4).requires_grad_()
    w2 = torch.full((4, 1), 0.5, requires_grad=True)
    for _ in range(5):
        loss = ((torch.tanh(x @ w1) @ w2 - x**2) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w1 -= 0.1 * w1.grad
            w2 -= 0.1 * w2.grad
        w1.grad, w2.grad = None, None
        yield loss
    yield w1, w2


PROGRAMS: list[Program] = [
    a_float32_seed, a_leaf_that_only_its_graph_remembers, a_leaf_written_while_recording,
    a_leaf_written_without_recording, a_partial_failure_leaves_other_leaves, a_penalty_on_the_gradient,
    a_saved_argument_overwritten, a_saved_output_overwritten, a_seed_for_a_vector, a_seed_of_one_entry_for_a_vector,
    a_training_loop, a_zeroed_intermediate, an_entry_written, an_in_place_product_of_two_leaves_products,
    an_integer_leaf, an_overwrite_through_detach, an_unsaved_output_overwritten, backward_of_a_constant,
    backward_of_a_leaf, backward_that_records, detached_pieces, flags_and_nodes, freezing, grad_of_a_constant,
    grad_of_an_unused_input, grad_of_inputs, leaves_at_the_ends_of_a_graph, matrix_calculus, mixed_dtypes,
    no_seed_for_a_vector, numpy_of_a_computed_tensor, retained_and_hooked, scalars_of_mixed_dtypes,
    second_backward_of_a_product, second_backward_of_a_sum, the_end_of_a_leaf_that_was_frozen_and_given_other_data,
    third_derivatives, two_losses_share_a_part_that_saves, two_losses_share_a_part_that_saves_nothing,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Using backward\\(\\) with create_graph=True:UserWarning")
@each("program", PROGRAMS)
def test_a_program_does_the_same_in_both(program: Program, pytorch: Any) -> None:
    ours, theirs = observations(program, reference), observations(program, pytorch)
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert_same(our, their)


def assert_same(ours: Any, theirs: Any) -> None:
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for our, their in zip(ours, theirs, strict=True):
            assert_same(our, their)
    elif isinstance(ours, float):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    else:
        assert ours == theirs
