"""Can an operator be called by all its names, with PyTorch's arguments as well as numpy's?"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import refgrad.engine as torch
from tests.effort import each

X = torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])

SAME: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
    (lambda: X.sum(dim=1, keepdim=True), lambda: torch.sum(X, axis=1, keepdims=True)),
    (lambda: X.mean((0, 1)), lambda: torch.mean(X)),
    (lambda: torch.amax(X, 0), lambda: X.max(axis=0)),
    (lambda: torch.clamp(X, min=0), lambda: torch.relu(X)),
    (lambda: X.clamp(-1, 2), lambda: torch.clip(X, lower=-1.0, upper=2.0)),
    (lambda: torch.clamp(X, min=None, max=2.0), lambda: torch.minimum(X, torch.tensor(2.0))),
    (lambda: torch.cat([X, X], dim=1), lambda: torch.concatenate(X, X, axis=1)),
    (lambda: torch.stack((X, X), 1), lambda: torch.stack([X, X], axis=1)),
    (lambda: torch.mm(X, X.T), lambda: X @ X.t()),
    (lambda: X.view(3, -1), lambda: torch.reshape(X, (3, 2))),
    (lambda: X.permute(1, 0), lambda: torch.transpose(X, 0, 1)),
    (lambda: X.transpose(-1, 0), lambda: X.mT),
    (lambda: X.unsqueeze(0), lambda: torch.expand_dims(X, axis=0)),
    (lambda: X.unsqueeze(0).squeeze(), lambda: X.unsqueeze(2).squeeze(dim=2)),
    (lambda: X[None, ..., None].squeeze(0), lambda: X.unsqueeze(2)),
    (lambda: X[None, ..., None].squeeze(axis=3), lambda: X.unsqueeze(0)),
    (lambda: X.unsqueeze(1).expand(-1, 2, -1), lambda: torch.broadcast_to(X.reshape(2, 1, 3), (2, 2, 3))),
    (lambda: X.flip((0, 1)), lambda: X.flip(dims=(0, 1))),
    (X.flatten, lambda: X.reshape(-1)),
    (lambda: torch.index_select(X, 1, torch.tensor([0, 0])), lambda: torch.take(X, axis=1, indices=(0, 0))),
    (lambda: torch.mul(X, 2), lambda: 2 * X),
    (lambda: torch.true_divide(1, X), lambda: 1 / X),
    (lambda: torch.sub(X, X), lambda: X - X),
    (lambda: abs(X) ** 2, lambda: torch.square(X)),
    (lambda: np.ones(3) * X, lambda: X * 1),
    (lambda: X[..., None, 0], lambda: X[:, [0]]),
    (lambda: X[X > 0], lambda: torch.tensor([1.0, 3.0, 4.0, 5.0])),
    (lambda: X[torch.tensor([1, 0])], lambda: X.flip(0)),
    (lambda: torch.stack(list(X)), lambda: X),
]


@each(("one", "other"), SAME)
def test_two_spellings_give_the_same(one: Callable[[], Any], other: Callable[[], Any]) -> None:
    assert one().shape == other().shape
    assert torch.equal(one(), other())


@pytest.mark.parametrize(
    "index", [(..., None, 0), (slice(1), ..., 2), (np.array([True, False]),), ([0, 0, 1],), (None, 1), ..., (0, 1)]
)
def test_an_index_sends_every_entry_s_gradient_back(index: Any) -> None:
    x = torch.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    picked = x[index]
    expected = np.zeros((2, 3))
    np.add.at(expected, index, 1.0)
    assert picked.tolist() == np.arange(6.0).reshape(2, 3)[index].tolist()
    picked.sum().backward()
    assert x.grad.tolist() == expected.tolist()


def message_of(name: str) -> str:
    with pytest.raises(AttributeError) as error:
        getattr(torch, name)
    assert error.value.name == name
    return str(error.value)


def test_a_misspelled_name_is_answered_with_the_nearest_ones_in_one_line() -> None:
    start = "module 'refgrad.engine' has no attribute"
    assert message_of("arctn") == f"{start} 'arctn': did you mean 'arctan' or 'arctanh' or 'arctan2'?"
    assert message_of("no_grd") == f"{start} 'no_grd': did you mean 'no_grad' or 'grad'?"
    assert message_of("zzzz") == f"{start} 'zzzz': its operators are the rows of specs/operators"


def test_too_many_attributes_are_an_error() -> None:
    with pytest.raises(TypeError, match="takes 2 attributes"):
        X.sum(0, True, 3)  # noqa: FBT003


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a Tensor, a number or an array of numbers"):
        X + "1"


def test_a_number_does_not_decide_the_dtype_but_an_array_does() -> None:
    x = torch.ones(2, dtype=torch.float32)
    assert (x * 2.0).dtype == torch.float32
    assert (x * np.float64(2.0)).dtype == torch.float32
    assert (x * np.ones(2)).dtype == torch.float64


def test_two_plain_numbers_make_a_tensor() -> None:
    assert torch.add(1.0, 2.0).item() == 3.0
    assert torch.exp(0.0).item() == 1.0


def test_conversions_are_differentiable() -> None:
    x = torch.tensor([1.5, 2.5], requires_grad=True)
    y = x.float()
    assert y.dtype == torch.float32
    (y.double() * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert not x.long().requires_grad
    assert x.to(torch.float64) is x


@pytest.mark.parametrize("scalar", [True, False])
def test_one_condition_chooses_for_a_whole_array(*, scalar: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor(5.0, requires_grad=True)
    torch.where(np.bool_(scalar), x, y).sum().backward()
    assert x.grad.tolist() == [float(scalar)] * 2
    assert y.grad.item() == 2.0 * (not scalar)


def test_a_branch_not_taken_passes_zero_whatever_arrives() -> None:
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    torch.relu(x).backward(torch.tensor([float("inf"), 3.0]))
    assert x.grad.tolist() == [0.0, 3.0]
