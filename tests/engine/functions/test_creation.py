"""Are tensors made with the right values, dtype, and memory of their own?"""

from functools import partial

import numpy as np
import pytest

import refgrad.engine as torch


def test_floats_are_float64_and_integers_int64() -> None:
    assert torch.tensor(1.0).dtype == torch.float64
    assert torch.tensor([1, 2]).dtype == torch.int64
    assert torch.tensor([True]).dtype == torch.bool
    assert torch.tensor([1, 2.5]).tolist() == [1.0, 2.5]
    assert torch.tensor(np.ones(2, np.float32)).dtype == torch.float32
    assert torch.tensor([1, 2], dtype=torch.float32, requires_grad=True).requires_grad


def test_a_tensor_copies_and_from_numpy_shares() -> None:
    array = np.ones(2)
    copied, shared, also = torch.tensor(array), torch.from_numpy(array), torch.as_tensor(array)
    array[0] = 5.0
    assert (copied.tolist(), shared.tolist(), also.tolist()) == ([1.0, 1.0], [5.0, 1.0], [5.0, 1.0])
    shared.numpy()[1] = 7.0
    assert array.tolist() == [5.0, 7.0]


def test_an_array_keeps_its_dtype_unless_another_is_wanted() -> None:
    assert torch.as_tensor(np.ones(2, np.float32)).dtype == torch.float32
    assert torch.as_tensor(np.ones(2, np.float32), dtype=torch.float64).dtype == torch.float64


def test_a_tensor_is_made_of_tensors() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    assert torch.tensor([x, 2 * x]).tolist() == [1.0, 2.0]
    assert torch.as_tensor(x) is x


@pytest.mark.parametrize("data", ["text", 1j, None])
def test_what_is_no_number_is_refused(data: object) -> None:
    for make in (torch.tensor, torch.as_tensor):
        with pytest.raises(TypeError, match="expected a Tensor, a number or an array of numbers, not "):
            make(data)


def test_what_is_no_array_is_refused() -> None:
    with pytest.raises(ValueError, match="inhomogeneous"):
        torch.tensor([[1.0], [1.0, 2.0]])


def test_shapes_are_given_one_by_one_or_together() -> None:
    assert torch.zeros(2, 3).shape == torch.zeros((2, 3)).shape == (2, 3)
    assert torch.ones().shape == ()
    assert torch.full((2,), 3).tolist() == [3, 3]
    assert torch.eye(2, 3).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert torch.arange(3).tolist() == [0, 1, 2]
    assert torch.arange(1, 2, 0.5).tolist() == [1.0, 1.5]
    assert torch.linspace(0, 1, 3).tolist() == [0.0, 0.5, 1.0]
    assert torch.zeros_like(torch.ones(2, dtype=torch.float32)).dtype == torch.float32


def test_a_seed_makes_random_tensors_the_same() -> None:
    def drawn() -> list[object]:
        torch.manual_seed(4)
        return [torch.rand(2).tolist(), torch.randn(2, 1).tolist(), torch.randint(0, 9, (3,)).tolist()]

    assert drawn() == drawn()
    assert 0 <= torch.rand_like(torch.ones(1)).item() < 1
    assert sorted(torch.randperm(4).tolist()) == [0, 1, 2, 3]


def test_a_tensor_says_what_it_holds() -> None:
    x = torch.ones(2, 3)
    assert (x.size(), x.size(1), x.dim(), x.ndim, x.numel(), len(x)) == ((2, 3), 3, 2, 2, 6, 2)
    assert f"{torch.tensor(1.23456):.2f}" == "1.23"
    assert float(torch.tensor(2.0)) + int(torch.tensor(3)) == 5.0
    assert [10, 20][torch.tensor(1)] == 20
    assert np.asarray(x).shape == (2, 3)
    assert bool(torch.tensor(0.0).eq(0))


def test_several_entries_are_no_single_number() -> None:
    for use in (float, int, bool, torch.Tensor.item):
        with pytest.raises(RuntimeError, match=r"cannot be converted to Scalar|ambiguous"):
            use(torch.ones(2))


def test_a_single_number_has_no_length_and_a_float_is_no_index() -> None:
    with pytest.raises(TypeError, match="len\\(\\) of a 0-d tensor"):
        len(torch.tensor(1.0))
    with pytest.raises(TypeError, match="only integer tensors"):
        [1, 2][torch.tensor(1.0)]


def test_what_is_created_requires_grad_only_if_that_is_asked_for() -> None:
    x, shape = torch.ones(2), (2,)
    creations = [partial(create, shape) for create in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn)]
    creations += [partial(torch.full, shape, 2.0), partial(torch.full_like, x, 2.0), partial(torch.tensor, [1.0])]
    creations += [partial(torch.arange, 2.0), partial(torch.linspace, 0.0, 1.0, 3), partial(torch.eye, 2)]
    creations += [partial(create, x) for create in (torch.zeros_like, torch.ones_like, torch.empty_like)]
    creations += [partial(create, x) for create in (torch.rand_like, torch.randn_like)]
    for create in creations:
        assert [create().requires_grad, create(requires_grad=True).requires_grad] == [False, True], create
