"""What an operator gets wrong in half precision alone is told there, and nothing else is."""

from __future__ import annotations

import pytest

from refgrad.grading.checks.check import ROWS
from tests.grading.broken import bench, verdict
from tests.native.reference import ADAPTER

SETUP = """
def dtype(x):
    return x.detach().numpy().dtype.name

def refusing(x, refused):
    if dtype(x) in refused:
        raise TypeError(f"no kernel for {dtype(x)}")
    return torch.exp(x)

def coarse(x):
    y = torch.exp(x)
    return y * torch.tensor(np.asarray(1.5, dtype(x))) if dtype(x) == "float16" else y

def rounded_twice(x):  # as right as float16 allows
    y = torch.exp(x)
    return y * torch.tensor(np.asarray(1 + 2.0**-10, dtype(x))) if dtype(x) == "float16" else y
"""


@pytest.mark.parametrize(
    ("spelling", "outcome"),
    [
        ("torch.exp({x})", "passed"),
        ("coarse({x})", "wrong"),
        ("rounded_twice({x})", "passed"),
        ("refusing({x}, ['float16'])", "unsupported"),
    ],
)
def test_only_what_is_wrong_in_half_precision_fails(spelling: str, outcome: str) -> None:
    engine = bench(SETUP, operators={"exp": spelling})
    assert verdict(engine, "operators/exp").verdict == "passed"
    found = verdict(engine, "half_precision/exp")
    assert (found.verdict, found.level) == (outcome, "SHOULD")


def test_what_is_wrong_in_every_dtype_is_told_once() -> None:
    engine = bench(operators={"exp": "torch.exp({x}) * 1.01"})
    found = verdict(engine, "half_precision/exp")
    assert (found.verdict, found.cause) == ("inconclusive", "operators/exp")


def test_an_engine_without_these_dtypes_lacks_them() -> None:
    found = verdict(bench(dtypes=("float64", "float32")), "half_precision/exp")
    assert found.verdict == "unsupported"
    assert all(dtype in found.message for dtype in ROWS["half_precision"]["any_dtype"])


@pytest.mark.parametrize("profile", ["smoke", "standard"])
def test_some_fixed_cases_are_tried_in_every_run_but_the_shortest(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def noted(*given: object) -> tuple[()]:
        tried.append(given)
        return ()

    monkeypatch.setattr("refgrad.generation.plain_cases", noted)
    assert verdict(bench(profile=profile), "half_precision/exp").verdict == "passed"
    assert bool(tried) is (profile == "standard")


def test_an_engine_with_neither_seeds_nor_a_sum_is_graded_on_scalars() -> None:
    engine = bench(only={"square"}, lacks=ADAPTER.lacks | {"seed"})
    assert verdict(engine, "half_precision/square").verdict == "passed"
