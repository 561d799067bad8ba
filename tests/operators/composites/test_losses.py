"""Are losses those of PyTorch?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.effort import each
from tests.operators.applying import applied, assert_close

random = np.random.default_rng(4)
X, Y, Z = random.normal(size=(3, 2, 4))
SHARES, TRUTHS = random.uniform(0.1, 0.9, size=(2, 2, 4))
POSITIVE = random.random((2, 4)) < 0.5
REDUCTIONS = ["mean", "sum", "none"]


@each("reduction", REDUCTIONS)
@each(
    ("name", "arrays", "attributes"),
    [
        ("mse_loss", (X, Y), {}),
        ("l1_loss", (X, Y), {}),
        ("huber_loss", (X, Y), {"delta": 0.7}),
        ("smooth_l1_loss", (X, Y), {"beta": 0.7}),
        ("binary_cross_entropy", (SHARES, TRUTHS), {}),
        ("binary_cross_entropy_with_logits", (X, TRUTHS), {}),
        ("gaussian_nll_loss", (X, Y, SHARES), {}),
        ("gaussian_nll_loss", (X, Y, SHARES), {"full": True}),
        ("poisson_nll_loss", (X, TRUTHS), {}),
        ("poisson_nll_loss", (SHARES, TRUTHS), {"log_input": False, "eps": 0.1}),
        ("triplet_margin_loss", (X, Y, Z), {"margin": 0.5, "eps": 0.1}),
    ],
)
@pytest.mark.engines
def test_losses_of_numbers_are_those_of_torch(
    name: str, arrays: tuple[Any, ...], attributes: dict[str, Any], reduction: str
) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    expected = getattr(torch.nn.functional, name)(*map(torch.tensor, arrays), **attributes, reduction=reduction)
    assert_close(applied(name, *arrays, **attributes, reduction=reduction), expected)


@each("reduction", ["batchmean", "sum", "none"])
@each(("y", "log_target"), [(TRUTHS, False), (Y, True)])
@pytest.mark.engines
def test_divergences_are_those_of_torch(y: Any, log_target: bool, reduction: str) -> None:  # noqa: FBT001
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    expected = torch.nn.functional.kl_div(torch.tensor(X), torch.tensor(y), reduction=reduction, log_target=log_target)
    assert_close(applied("kl_div", X, y, reduction=reduction, log_target=log_target), expected)


@each("reduction", REDUCTIONS)
@each(
    ("name", "arrays", "positive", "attributes"),
    [
        ("soft_margin_loss", (X,), POSITIVE, {}),
        ("hinge_embedding_loss", (X,), POSITIVE, {"margin": 0.5}),
        ("margin_ranking_loss", (X, Y), POSITIVE, {"margin": 0.5}),
        ("cosine_embedding_loss", (X, Y), POSITIVE[:, 0], {"margin": -0.2}),
        ("cosine_embedding_loss", (X, Y), ~POSITIVE[:, 0], {"margin": -0.2}),
    ],
)
@pytest.mark.engines
def test_losses_of_signs_are_those_of_torch(
    name: str, arrays: tuple[Any, ...], positive: Any, attributes: dict[str, Any], reduction: str
) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    signs = torch.tensor(np.where(positive, 1.0, -1.0))
    expected = getattr(torch.nn.functional, name)(*map(torch.tensor, arrays), signs, **attributes, reduction=reduction)
    assert_close(applied(name, *arrays, positive, **attributes, reduction=reduction), expected)


@each("reduction", REDUCTIONS)
@each(("shape", "target"), [((4,), 3), ((2, 4), (1, 3)), ((2, 4, 3), ((0, 1, 3), (2, 2, 0))), ((0, 4), ())])
@each(("name", "attributes"), [("nll_loss", {}), ("cross_entropy", {}), ("cross_entropy", {"label_smoothing": 0.3})])
@pytest.mark.engines
def test_losses_of_classes_are_those_of_torch(
    name: str, attributes: dict[str, Any], shape: tuple[int, ...], target: Any, reduction: str
) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    if 0 in shape and reduction == "mean":
        return  # there is no mean of no losses
    x = np.random.default_rng(5).normal(size=shape)
    classes = torch.tensor(target, dtype=torch.int64)
    expected = getattr(torch.nn.functional, name)(torch.tensor(x), classes, **attributes, reduction=reduction)
    assert_close(applied(name, x, target=target, **attributes, reduction=reduction), expected)


@each("reduction", REDUCTIONS)
@each("smoothing", [0.0, 0.3])
@pytest.mark.engines
def test_classes_may_have_probabilities(smoothing: float, reduction: str) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    expected = torch.nn.functional.cross_entropy(
        torch.tensor(X), torch.tensor(SHARES), label_smoothing=smoothing, reduction=reduction
    )
    assert_close(applied("soft_cross_entropy", X, SHARES, label_smoothing=smoothing, reduction=reduction), expected)


@each("p", [1, 2])
@each(("x", "target"), [(X, (1, 3)), (X[0], 2)])
@pytest.mark.engines
def test_margins_between_classes_are_those_of_torch(x: Any, target: Any, p: int) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    expected = torch.nn.functional.multi_margin_loss(torch.tensor(x), torch.tensor(target), p, 0.7)
    assert_close(applied("multi_margin_loss", x, target=target, p=p, margin=0.7), expected)


@each("target", [(0,), (0, 4), 0, (0, -1)])
def test_classes_that_do_not_fit_are_refused(target: Any) -> None:
    with pytest.raises(ValueError, match="class"):
        applied("nll_loss", X, target=target)
