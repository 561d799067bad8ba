"""An engine that has matrices alone is graded by matrices, and what it refuses does not count against it."""

from __future__ import annotations

from typing import Any

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.settings import Settings
from refgrad.native.adapter import FunctionalAdapter
from refgrad.native.engine import Engine
from tests.grading.broken import verdict

SETUP = """
import numpy as np
from tests.native import tiny_matrices as tm

def stretched_wrong(x, y):
    both = tm.multiply(x, y)
    rule = both.rule
    both.rule = lambda g: [c * (1.5 if c.shape != g.shape else 1.0) for c in rule(g)]
    return both
"""


def matrices(**changes: Any) -> Bench:
    fields: dict[str, Any] = {
        "name": "matrices",
        "setup": SETUP,
        "least_axes": 2,
        "leaf": "tm.matrix({array})",
        "seed": "tm.matrix({array})",
        "value": "{x}.array",
        "vjp": "tm.vjp({function}, {primals})",
        "operators": {
            "add": "tm.add({x}, {y})",
            "multiply": "tm.multiply({x}, {y})",
            "matmul": "tm.product({x}, {y})",
            "sum": "tm.total({x}, {axis})",
        },
    }
    return Bench(Engine(FunctionalAdapter(**(fields | changes))), Settings(profile="smoke"))


@pytest.mark.parametrize(
    "check",
    [
        "operators/add",
        "operators/multiply",
        "operators/matmul",
        "operators/sum",
        "contracts/matmul",
        pytest.param("graphs/several_backwards", marks=pytest.mark.whole),
        "claims/arrays",
        "claims/float64",
        "claims/retain_graph",
    ],
)
def test_what_it_has_is_decided_and_passes(check: str) -> None:
    outcome = verdict(matrices(), check)
    assert outcome.verdict == "passed"
    coverage = check.startswith("graphs/") and " ordered pairs, on " in outcome.message
    assert coverage or outcome.message.partition(" ")[2] in {"", "unsupported"}


def test_a_fault_of_some_matrices_is_reported() -> None:
    broken = {"multiply": "stretched_wrong({x}, {y})", "sum": "tm.total({x}, {axis})"}
    assert verdict(matrices(operators=broken), "operators/multiply").verdict == "wrong"


def test_an_adapter_of_scalars_has_no_matrices() -> None:
    outcome = verdict(matrices(leaf="tm.matrix({array}.sum().reshape(1))"), "claims/arrays")
    assert outcome.verdict == "missing"
    assert "scalars_only = true" in outcome.message


def test_a_claim_that_needs_what_is_declared_as_lacking_is_decided() -> None:
    assert (
        verdict(matrices(scalars_only=True, leaf="tm.matrix({array}.reshape(()))"), "claims/arrays").verdict == "passed"
    )
    refused = {"add": "[][tm.add({x}, {y}) is None]", "multiply": "[][tm.multiply({x}, {y}) is None]"}
    outcome = verdict(matrices(operators=refused, refusals=("IndexError: list index",)), "claims/arrays")
    assert outcome.verdict == "missing"


def test_a_number_is_a_matrix_of_one_entry_only_if_the_adapter_declares_it() -> None:
    assert verdict(matrices(least_axes=0), "operators/sum").verdict == "wrong"
