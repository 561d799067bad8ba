"""The suite catches every faulty engine, blames what is broken, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.verdict import Verdict
from tests.effort import in_turns, sampled
from tests.faulty_engines.fault import Fault, is_generated, may_meet_behaviours, step_count, verdicts
from tests.faulty_engines.faults import CLEAN, FAULTS
from tests.faulty_engines.remembering import remembered_scenarios
from tests.faulty_engines.tapes.forward_tape import ForwardTape
from tests.faulty_engines.tapes.fused_tape import FusedTape
from tests.faulty_engines.tapes.recording_tape import RecordingTape
from tests.faulty_engines.tapes.tape import Tape
from tests.grading.sparing import one_fault_a_search

pytestmark = pytest.mark.turns(2)

LARGEST_COUNTEREXAMPLE = 9
"""Steps: a leaf for each operand of layer_norm, its application, a weight, two derivatives, a backward and a read."""
BEHAVIOURS = frozenset(behaviour.id for behaviour in all_behaviours())
EXAMPLES_AT_MOST = 50

each_fault = pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
each_clean = pytest.mark.parametrize("clean", CLEAN, ids=[clean.name for clean in CLEAN])


@pytest.fixture(scope="module", autouse=True)
def scenarios_are_remembered() -> Iterator[None]:
    with remembered_scenarios():
        yield


def failures(found: Mapping[str, Verdict]) -> dict[str, Verdict]:
    return {name: verdict for name, verdict in found.items() if verdict.failed}


def test_faults_have_names_of_their_own_and_break_checks_that_exist() -> None:
    assert len(FAULTS) >= 150
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert fault.breaks
        assert fault.breaks <= {check.id for check in all_checks()}


@pytest.mark.slow
@each_clean
def test_what_faulty_engines_are_made_of_fails_nothing_at_the_standard_profile(clean: Fault) -> None:
    assert failures(verdicts(clean, "standard")) == {}


@pytest.mark.whole
@pytest.mark.parametrize("clean", in_turns(CLEAN), ids=[clean.name for clean in CLEAN])
def test_what_faulty_engines_are_made_of_fails_nothing_as_it_stands(clean: Fault) -> None:
    """What faults of its kind break is enough: of a tape that can do more, the rest is the plain tape's."""
    alike = [fault for fault in FAULTS if kind_of(fault) is kind_of(clean)]
    broken = frozenset[str]().union(*(fault.breaks | fault.may_break for fault in alike))
    with_these = replace(clean, may_break=broken)  # so that it has their operators, and none is taken to be right
    found = verdicts(with_these, "smoke", only=broken if kind_of(clean) else broken | BEHAVIOURS)
    assert {name: verdict.message for name, verdict in failures(found).items()} == {}
    assert sum(verdict.verdict == "passed" for verdict in found.values()) > min(50, len(found) / 2)


def kind_of(fault: Fault) -> type[Tape] | None:
    """Return the tape that can do more than the plain one and that an engine is made of, or None."""
    return next((kind for kind in (FusedTape, ForwardTape, RecordingTape) if issubclass(fault.engine, kind)), None)


INSIDE_OF = frozenset({"rewrites/rewritten_expressions"})
"""A behaviour of expressions of composites, each of which may have a faulty operator inside of it."""


EXCEPTIONAL = ("exceptional", "infinities", "tails")
"""Families of checks at exceptional numbers, where an operator that is wrong elsewhere may be wrong, too."""


def may_fail(fault: Fault) -> frozenset[str]:
    """Return the checks that a fault breaks or may break."""
    operators = [name.removeprefix("operators/") for name in fault.breaks if name.startswith("operators/")]
    elsewhere = frozenset(f"{chapter}/{name}" for chapter in EXCEPTIONAL for name in operators)
    return fault.breaks | fault.may_break | INSIDE_OF | elsewhere


@pytest.mark.parametrize("fault", sampled(FAULTS, 8, turns=3), ids=[fault.name for fault in FAULTS])
def test_a_faulty_engine_fails_the_checks_that_it_breaks_and_no_other_behaviour(fault: Fault) -> None:
    """The smoke profile may overlook a rare fault of an operator: then the standard one must not."""
    behaviours = BEHAVIOURS if may_meet_behaviours(fault) else frozenset[str]()
    with one_fault_a_search():
        failed = failures(verdicts(fault, "smoke", only=fault.breaks | behaviours))
        overlooked = fault.breaks - failed.keys()
        assert failed.keys() <= may_fail(fault)
        failed |= failures(verdicts(fault, "standard", only=overlooked))
    assert fault.breaks <= failed.keys()
    assert_found_soon_and_shown_small(failed)


@pytest.mark.slow
@each_fault
def test_a_faulty_engine_fails_exactly_these_at_the_standard_profile(fault: Fault) -> None:
    failed = failures(verdicts(fault, "standard"))
    assert fault.breaks <= failed.keys() <= may_fail(fault)
    assert_found_soon_and_shown_small(failed)


def assert_found_soon_and_shown_small(failed: Mapping[str, Verdict]) -> None:
    generated = [verdict for verdict in failed.values() if is_generated(verdict)]
    assert len(generated) < len(failed) or min(verdict.examples for verdict in generated) <= EXAMPLES_AT_MOST
    assert {v.id: v.scenario for v in generated if step_count(v) > LARGEST_COUNTEREXAMPLE} == {}
