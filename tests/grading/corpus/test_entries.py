"""What an entry says of policies covers all of them, and no interval is narrower for being written shorter."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from refgrad.lifecycle import Policy, lower
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import parse
from tests.grading.corpus.acceptance import accepted
from tests.grading.corpus.entries import all_policies, boxes_of, entries_of

POLICIES = all_policies()

FREED_TWICE = parse("""
x = leaf float64[2] {0x1p+0 0x1.8p+1} requires_grad
y = exp x
backward y
backward y seed float64[2] {0x1p+0 0x1p+0}
read grad x
""")


@given(st.lists(st.integers(0, 2), min_size=len(POLICIES), max_size=len(POLICIES)))
def test_boxes_hold_policies_of_one_outcome_and_all_of_them(outcomes: list[int]) -> None:
    known = dict(zip(POLICIES, outcomes, strict=True))
    held = [
        [Policy(**dict(zip(box, values, strict=True))) for values in product(*box.values())] for box in boxes_of(known)
    ]
    assert all(len({known[policy] for policy in box}) == 1 for box in held)
    assert {policy for box in held for policy in box} == set(POLICIES)
    assert held[0][0] == Policy()


def test_a_scenario_that_each_policy_answers_alike_has_one_entry_without_a_policy() -> None:
    (entry,) = entries_of("operators/exp", parse("x = leaf float64[] {0x1p+0} requires_grad\ny = exp x\nread value y"))
    assert "policy" not in entry


def test_each_policy_has_the_entries_that_it_expects() -> None:
    entries = list(entries_of("retain_graph/x", FREED_TWICE))
    for policy in POLICIES:
        fitting = [
            entry
            for entry in entries
            if all(getattr(policy, field) in values for field, values in entry.get("policy", {}).items())
        ]
        assert fitting, policy
        expected = {type(each).__name__ for each in lower(FREED_TWICE, policy).predictions}
        rows = Counter(row["shows"] for row in fitting[0]["due"])
        assert ("error" in rows) == ("Fails" in expected)


def test_ends_that_are_written_shorter_lie_outside() -> None:
    scenario = parse("x = leaf float64[3] {0x1.1p+0 0x1.8p+1 0x1.3p-3}\ny = exp x\nread value y")
    (entry,) = entries_of("operators/exp", scenario)
    lower_ends, upper_ends = accepted(CertifiedOracle(scenario).narrowest_value("y"))
    (row,) = entry["due"]
    ends = zip(row["lower"], lower_ends.tolist(), upper_ends.tolist(), row["upper"], strict=True)
    for low, lowest, highest, high in ends:
        assert low <= lowest < highest <= high
        assert high - low <= 1.1 * (highest - lowest) + 2 * math.ulp(highest)
