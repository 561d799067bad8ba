"""An engine that reads memory that nothing was written to is found to, whatever that memory holds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from refgrad.facts import Entry
from refgrad.grading.bench import Bench
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.adapter import TapeAdapter
from refgrad.native.engine import Isolation, launch
from refgrad.native.observation import UNWRITTEN_NUMBERS, is_unwritten
from refgrad.native.process import FILLED
from refgrad.native.runner import ProcessRunner
from refgrad.report.confirmation import confirm
from refgrad.report.findings import Script
from refgrad.report.site.issue import issue_text
from tests.grading.broken import CHECKS

pytestmark = pytest.mark.turns(2)

LARGE = 1000
"""Numbers that NumPy takes from the C library each time; it keeps smaller pieces."""

SETUP = f"""\
import numpy as np


class Leaf:
    def __init__(self, data, requires_grad):
        self.data, self.requires_grad, self.grad, self.parent = np.array(data), requires_grad, None, None

    def negative(self):
        made = Leaf(-self.data, self.requires_grad)
        made.parent = self
        return made

    def backward(self, seed=None):
        seed = np.ones_like(self.data) if seed is None else seed
        grad = np.empty({LARGE})[: seed.size].reshape(seed.shape)
        grad[...] = WRITTEN
        self.parent.grad = grad
"""


def engine(written: str) -> TapeAdapter:
    """Return an engine with one operator, whose backward writes this to the gradient."""
    return TapeAdapter(
        name="unwritten",
        setup=SETUP.replace("WRITTEN", written),
        leaf="Leaf({array}, requires_grad={requires_grad})",
        value="{x}.data",
        backward="{output}.backward({seed})",
        gradient="{leaf}.grad",
        seed="{array}",
        operators={"negative": "{x}.negative()"},
    )


@pytest.fixture
def reported() -> Iterator[Verdict]:
    """Return what is found of one that writes what is there."""
    started = launch(engine("grad"), Isolation())
    yield Bench(started, Settings("smoke")).grade(CHECKS["operators/negative"])
    assert isinstance(started.runner, ProcessRunner)
    started.runner.stop()


def test_a_gradient_that_was_never_written_is_reported_as_such(reported: Verdict) -> None:
    assert reported.verdict == "wrong"
    assert reported.evidence is not None
    assert isinstance(reported.evidence.fact, Entry)
    assert reported.evidence.fact.qualifier == "unwritten"
    assert reported.evidence.message().endswith("it was read from memory that nothing was written to")


def test_its_program_states_how_to_run_it_and_is_confirmed(reported: Verdict) -> None:
    script = Script("unwritten", "1", reported, setup=engine("grad").setup)
    assert script.sentence.endswith(
        "; unwritten 1 gives 7.47708e+20, which it reads from memory that nothing was written to."
    )
    advice = "Run it with MALLOC_PERTURB_=187 in the environment"
    assert advice in script.text.replace("\n# ", " ")
    assert advice in issue_text(script)
    assert confirm(script).answer == "confirmed"


def test_an_engine_that_writes_all_that_it_reads_passes() -> None:
    started = launch(engine("-seed"), Isolation())
    verdict = Bench(started, Settings("smoke")).grade(CHECKS["operators/negative"])
    assert isinstance(started.runner, ProcessRunner)
    started.runner.stop()
    assert verdict.verdict == "passed"


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_what_the_c_library_fills_memory_with_is_known_in_each_format(dtype: type) -> None:
    """A process of its own: the environment counts when it starts."""
    program = f"import numpy as np\nprint(repr(float(np.empty({LARGE}, np.{dtype.__name__})[-1])))"
    numbers = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **FILLED}, capture_output=True, text=True, check=True
    ).stdout
    assert is_unwritten(float(numbers))
    assert is_unwritten(-float(numbers))


def test_memory_that_was_freed_is_known_too() -> None:
    assert is_unwritten(float(np.frombuffer(bytes([0xBB] * 8))[0]))
    assert is_unwritten(float(np.frombuffer(bytes([0xBB] * 4), "f4")[0]))


def test_what_is_known_of_bfloat16_is_784() -> None:
    assert 784.0 in UNWRITTEN_NUMBERS  # 0x4444: the exponent 136 of bias 127, and 1 + 0x44 / 128
    assert not is_unwritten(0.0)
    assert not is_unwritten(float("nan"))
