"""Faults planted into PyTorch are found whatever the seed, and legal choices are not called faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.effort import in_turns
from tests.faulty_engines.derived.grading import searches_kept_brief
from tests.faulty_engines.planted.fault import KINDS
from tests.faulty_engines.planted.faults import FAULTS, LEGAL, OF_PYTORCH, SURVIVORS
from tests.faulty_engines.planted.grading import CHECKS
from tests.faulty_engines.planted.neighbours import NEIGHBOUR_FAULTS_OF_REFERENCE
from tests.faulty_engines.planted.of_jax import JAX_FAULTS
from tests.faulty_engines.planted.reference import REFERENCE_FAULTS
from tests.faulty_engines.planted.run import result
from tests.faulty_engines.remembering import remembered_scenarios

pytestmark = pytest.mark.engines

ALWAYS = (
    "torch, operators/hstack: forgets what stands behind the eighth operand",
    "torch, operators/tanh: saves results of one shape in one place",
    "torch, second_order/matmul: loses a part of the second derivative by one matrix alone",
    "torch, exceptional/hypot: adds squares that overflow",
    "torch, half_precision/sigmoid: loses small results in float16",
    "torch, several/gradients_of_several_outputs_add_up: seeds every output with the first seed",
    "torch, operators/elu: has another kernel for alpha of one",
    "torch, operators/embedding: has room for eight uses of a row",
    "torch, operators/elu: loses what a second application with other attributes receives",
    "torch, forward_mode/logsumexp: pushes tangents through the largest entry alone",
    "torch, operators/sqrt: has another kernel beyond a thousand",
    "torch, exceptional/sin: has the second derivative one at a NaN",
    "torch, half_precision/min: counts to 2048 in a largest entry",
    "torch, second_order/celu: has another second derivative of what is inaccurate",
    "torch, contracts/sin: keeps the operand of a sine beyond its graph",
    "torch, graphs/small: forgets a result that nobody holds",
)
"""One of each kind that the tests plant; ``python -m tests.faulty_engines.planted`` plants them all."""

CHOSEN = (
    "torch, edges/relu: has the slope one half of relu at zero",
    "torch, operators/where: answers negative zeros for zeros",
    "torch, operators/cumsum: adds by doubling steps",
    "torch, tails/expm1: has the tail of an exponential by one less",
)


@pytest.fixture(autouse=True)
def searches_are_brief() -> Iterator[None]:
    pytest.importorskip("torch", reason="the faults are planted into it")
    with remembered_scenarios(), searches_kept_brief():
        yield


LONGEST = pytest.param(ALWAYS[-1], marks=pytest.mark.slow)
"""A fault whose search takes longer than all others together; `test_small_graphs.py` holds its check, too."""


@pytest.mark.parametrize("name", [*in_turns(ALWAYS[:-1]), LONGEST])
def test_a_fault_is_found_on_every_seed(name: str) -> None:
    found = result(name)
    assert found.killed, found


@pytest.mark.parametrize("name", in_turns(CHOSEN))
def test_a_legal_choice_is_no_fault(name: str) -> None:
    found = result(name)
    assert not found.flagged, found


def test_one_of_each_kind_is_planted() -> None:
    assert {FAULTS[name].kind for name in ALWAYS} == set(KINDS)


def test_every_kind_has_its_faults_and_each_is_another() -> None:
    of_reference = (*REFERENCE_FAULTS, *NEIGHBOUR_FAULTS_OF_REFERENCE)
    assert len(FAULTS) == len(OF_PYTORCH) + len(JAX_FAULTS) + len(of_reference)
    kinds = Counter(fault.kind for fault in OF_PYTORCH)
    assert len(OF_PYTORCH) >= 60
    assert all(kinds[kind] >= 6 for kind in KINDS)
    assert {fault.check for fault in (*FAULTS.values(), *LEGAL.values())} <= CHECKS.keys()


def test_survivors_are_faults() -> None:
    assert SURVIVORS.keys() <= FAULTS.keys()
