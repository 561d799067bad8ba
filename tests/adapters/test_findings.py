"""Do the programs of docs/findings still show what the page says of them?"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from refgrad.harness import all_behaviours, examine, find_adapter, start
from refgrad.scenario import parse

FINDINGS = Path(__file__).parents[2] / "docs" / "findings"

SHARED_MEMORY = """
a = leaf float64[] {0x1p+0} requires_grad
b = leaf float64[] {0x1p+0} requires_grad
c = stack a b axis=0
d = sum c
backward d retain_graph
backward a
read grad b
"""


@pytest.mark.engines
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs refgrad[torch]")
def test_leaf_gradients_of_pytorch_share_their_memory() -> None:
    if not version("torch").startswith("2.13."):
        pytest.skip("the finding is about PyTorch 2.13")
    program = FINDINGS / "pytorch_leaf_gradients_share_memory.py"
    assert "refgrad" not in program.read_text().split('"""')[2]
    printed = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout
    assert printed == (
        "b.grad after d(a + b)/db: [1.0, 1.0]\n"
        "b.grad after a further backward that has nothing to do with b: [6.0, 6.0]\n"
        "a.grad and b.grad share their memory: True\n"
    )
    found = examine(parse(SHARED_MEMORY), start(find_adapter("torch")))
    assert (found.outcome, found.step) == ("wrong", 7)


@pytest.mark.engines
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs refgrad[torch]")
def test_pytorch_writes_to_the_seed_of_an_earlier_backward() -> None:
    if not version("torch").startswith("2.13."):
        pytest.skip("the finding is about PyTorch 2.13")
    program = FINDINGS / "pytorch_backward_writes_to_its_seed.py"
    assert "refgrad" not in program.read_text().split('"""')[2]
    printed = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout
    assert printed == (
        "after 1 backward calls: x.grad = [1.0, 1.0], seed = [1.0, 1.0]\n"
        "after 2 backward calls: x.grad = [2.0, 2.0], seed = [2.0, 2.0]\n"
        "after 3 backward calls: x.grad = [4.0, 4.0], seed = [4.0, 4.0]\n"
        "x.grad and the seed share their memory: True\n"
    )
    (written,) = [b for b in all_behaviours() if b.id == "contracts/seeds_stay_as_they_are"]
    torch = start(find_adapter("torch"))
    assert [examine(s, torch, seeds=True).outcome for s in written.scenarios] == ["wrong", "passed", "passed"]
    assert [examine(s, torch).outcome for s in written.scenarios] == ["passed"] * 3


def test_the_reference_engine_keeps_leaf_gradients_apart() -> None:
    assert examine(parse(SHARED_MEMORY), start(find_adapter("refgrad"))).outcome == "passed"
