"""The tape with a forward mode is right as it stands."""

from tests.faulty_engines.fault import verdicts
from tests.faulty_engines.rules.forward_faults import NO_FORWARD_FAULT


def test_the_tape_with_a_forward_mode_fails_nothing_as_it_stands() -> None:
    found = verdicts(NO_FORWARD_FAULT, "smoke")
    assert {name: verdict.message for name, verdict in found.items() if verdict.failed} == {}
    assert sum(verdict.verdict == "passed" for verdict in found.values() if verdict.chapter == "forward_mode") > 50
