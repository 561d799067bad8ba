"""gradcheck and gradgradcheck are asked so that the right engines pass and plain mistakes do not."""

from __future__ import annotations

import pytest

from tests.effort import in_turns
from tests.faulty_engines.fault import Fault
from tests.faulty_engines.faults import CLEAN, FAULTS

pytestmark = pytest.mark.turns(2)

torch = pytest.importorskip("torch", reason="PyTorch's gradcheck is PyTorch's")

from tests.faulty_engines.gradchecked import Question, answers, fails, fails_twice, ordinary, plain  # noqa: E402
from tests.faulty_engines.tapes.recording_tape import RecordingTape  # noqa: E402

pytestmark = pytest.mark.engines
BROKEN = sorted({
    c.partition("/")[2] for f in FAULTS for c in f.breaks if c.startswith(("operators/", "second_order/"))
})


def fault(words: str) -> Fault:
    (found,) = (fault for fault in FAULTS if words in fault.name)
    return found


@pytest.mark.parametrize("clean", CLEAN, ids=[clean.name for clean in CLEAN])
def test_right_engines_pass_at_ordinary_functions(clean: Fault) -> None:
    assert not any(fails(clean.engine, question) for question in ordinary())


@pytest.mark.parametrize("operator", in_turns(BROKEN))
def test_every_operator_that_a_fault_breaks_has_a_plain_point_as_it_is_by_default(operator: str) -> None:
    assert plain(operator)
    assert all(array.size > 0 for question in plain(operator) for array in question.arrays)


def test_the_tape_that_records_passes_gradgradcheck() -> None:
    asked: list[Question] = [*ordinary(), *plain("exp"), *plain("layer_norm"), *plain("prod")]
    assert not any(fails_twice(RecordingTape, question) for question in asked)


def test_a_plain_mistake_is_caught() -> None:
    assert answers(fault("adds what subtract")) == ("yes", "-")


def test_a_mistake_of_second_derivatives_is_caught_by_gradgradcheck_alone() -> None:
    assert answers(fault("forgets where the saved result of exp")) == ("no", "yes")


def test_a_mistake_within_the_tolerance_is_not_caught() -> None:
    assert answers(fault("0.09 %")) == ("no", "-")


def test_a_freed_graph_is_no_question_for_gradcheck() -> None:
    assert answers(fault("never frees a graph")) == ("cannot ask", "-")
