"""Are normalisations those of SciPy and PyTorch?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from tests.operators.applying import applied, assert_close

random = np.random.default_rng(3)
X, WEIGHT, BIAS = random.normal(size=(2, 6, 4)), random.normal(size=6), random.normal(size=6)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_and_its_kin_are_those_of_scipy(axis: int) -> None:
    assert_close(applied("softmax", X, axis=axis), softmax(X, axis=axis))
    assert_close(applied("softmin", X, axis=axis), softmax(-X, axis=axis))
    assert_close(applied("log_softmax", X, axis=axis), log_softmax(X, axis=axis))


@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
def test_what_is_standardized_has_the_mean_0_and_the_variance_1(axis: Any) -> None:
    result = applied("standardize", X, axis=axis, eps=0.0)
    assert np.allclose(result.mean(axis=axis), 0, atol=1e-14)
    assert np.allclose(result.var(axis=axis), 1, rtol=1e-13)


@pytest.mark.engines
def test_layers_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    functional, x, weight, bias = torch.nn.functional, *map(torch.tensor, (X, WEIGHT, BIAS))
    last, eps = x.swapaxes(1, 2), 0.1
    assert_close(
        applied("layer_norm", np.swapaxes(X, 1, 2), WEIGHT, BIAS, eps=eps),
        functional.layer_norm(last, (6,), weight, bias, eps),
    )
    assert_close(
        applied("rms_norm", np.swapaxes(X, 1, 2), WEIGHT, eps=eps), functional.rms_norm(last, (6,), weight, eps)
    )
    assert_close(
        applied("batch_norm", X, WEIGHT, BIAS, eps=eps),
        functional.batch_norm(x, None, None, weight, bias, training=True, eps=eps),
    )
    assert_close(
        applied("batch_norm_inference", X, WEIGHT, BIAS, mean=0.5, var=2.0, eps=eps),
        functional.batch_norm(x, torch.full((6,), 0.5).double(), torch.full((6,), 2.0).double(), weight, bias, eps=eps),
    )
    assert_close(
        applied("instance_norm", X, WEIGHT, BIAS, eps=eps),
        functional.instance_norm(x, weight=weight, bias=bias, eps=eps),
    )
    for groups in (1, 2, 3):
        expected = functional.group_norm(x, groups, weight, bias, eps)
        assert_close(applied("group_norm", X, WEIGHT, BIAS, groups=groups, eps=eps), expected)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
@pytest.mark.engines
def test_responses_are_normalised_by_the_channels_around_as_in_torch(size: int) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    expected = torch.nn.functional.local_response_norm(torch.tensor(X), size, 0.7, 0.6, 1.5)
    assert_close(applied("local_response_norm", X, size=size, alpha=0.7, beta=0.6, k=1.5), expected)


@pytest.mark.parametrize("eps", [1e-12, 2.0])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.engines
def test_directions_are_those_of_torch(axis: int, eps: float) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    functional, x, y = torch.nn.functional, torch.tensor(X), torch.tensor(X[::-1].copy())
    assert_close(applied("normalize", X, axis=axis, eps=eps), functional.normalize(x, dim=axis, eps=eps))
    expected = functional.cosine_similarity(x, y, dim=axis, eps=eps)
    assert_close(applied("cosine_similarity", X, X[::-1], axis=axis, eps=eps), expected)


@pytest.mark.parametrize("shape", [(1, 2, 1), (2, 0, 2)])
def test_a_channel_needs_two_entries(shape: tuple[int, ...]) -> None:
    channels = np.ones(shape[1])
    with pytest.raises(ValueError, match="too few to be normalised"):
        applied("batch_norm", np.ones(shape), channels, channels)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("axis", [0, -1])
def test_no_entries_are_not_brought_to_a_scale(name: str, axis: int) -> None:
    """Engines that take the largest entry first refuse an empty axis."""
    with pytest.raises(ValueError, match="no largest of no entries"):
        applied(name, np.zeros((0, 0)), axis=axis)
