"""The lifecycle model against engines that promise PyTorch's semantics, on random lifecycles, without any adapter."""

from __future__ import annotations

from typing import Any

import pytest

import refgrad.engine
from refgrad.generation import lifecycle_scenario
from refgrad.lifecycle import Policy
from refgrad.scenario import parse
from tests.lifecycle.driver import disagreement

COUNT = 150
VIEWS_MAY_BE_VIEWS = Policy(unrecorded_views="open")


def disagreements(torch: Any, policy: Policy, seeds: range, *, apart: bool = False) -> dict[int, str]:
    drawn = {seed: disagreement(lifecycle_scenario(seed), torch, policy, apart=apart) for seed in seeds}
    return {seed: wrong for seed, wrong in drawn.items() if wrong is not None}


def test_the_reference_engine_does_what_the_model_predicts() -> None:
    assert disagreements(refgrad.engine, Policy(), range(COUNT)) == {}


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
def test_pytorch_does_what_the_model_predicts() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]", exc_type=ImportError)
    assert disagreements(torch, VIEWS_MAY_BE_VIEWS, range(COUNT), apart=True) == {}


def test_what_the_model_does_not_predict_is_noticed() -> None:
    accumulated = parse("x = leaf float64[] {0x1p+0} requires_grad\na = exp x\nbackward a\nbackward a")
    assert disagreement(accumulated, refgrad.engine, Policy()) is None
    wrong = disagreement(accumulated, refgrad.engine, Policy(frees="never"))
    assert wrong is not None
    assert wrong.startswith("step 4, backward a: Succeeds()")
    sums = parse("x = leaf float64[] {0x1p+0} requires_grad\nbackward x\nbackward x\nread grad x")
    assert disagreement(sums, refgrad.engine, Policy()) is None
    assert disagreement(sums, refgrad.engine, Policy(accumulates="replaces")) is not None
