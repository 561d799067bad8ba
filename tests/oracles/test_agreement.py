"""Do the two oracles agree, and is it counted when one cannot tell?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from refgrad.scenario import parse
from tests.effort import seeds
from tests.oracles.agreement import Summary, compare, page, summaries


def inconclusive_share(result: dict[str, Summary]) -> float:
    summaries_ = result.values()
    return sum(s.scenarios["inconclusive"] for s in summaries_) / sum(s.scenarios["all"] for s in summaries_)


def test_the_oracles_agree_on_generated_scenarios(record_property: Callable[[str, object], None]) -> None:
    result = summaries(len(seeds(500)))
    record_property("inconclusive", inconclusive_share(result))
    assert [seed for summary in result.values() for seed in summary.disagreeing] == []
    assert result["no operator on an edge"].scenarios["inconclusive"] == 0
    assert inconclusive_share(result) < 0.05


@pytest.mark.slow
def test_the_oracles_agree_on_10_000_generated_scenarios(record_property: Callable[[str, object], None]) -> None:
    result = summaries(10_000)
    record_property("inconclusive", inconclusive_share(result))
    assert [seed for summary in result.values() for seed in summary.disagreeing] == []
    assert result["no operator on an edge"].scenarios["inconclusive"] <= 10
    assert inconclusive_share(result) < 0.05


def test_on_a_kink_an_entry_is_open_and_unsure_but_does_not_disagree() -> None:
    scenario = parse("x = leaf float64[2] {0x0p+0 0x1p+0} requires_grad\ny = relu x\nl = sum y\nbackward l\n")
    comparison = compare(scenario)
    assert comparison.open.tolist() == [True, False]
    assert comparison.unsure.tolist() == [True, False]
    assert not comparison.disagree.any()
    assert comparison.conclusive.tolist() == [False, True]


def test_a_disagreement_is_counted_and_named_on_the_page() -> None:
    comparison = compare(parse("x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\nl = sum x\nbackward l\n"))
    comparison.disagree[1] = True
    summary = Summary()
    summary.add(7, comparison)
    text = page({"no operator on an edge": summary, "operators on their edges": Summary()}, 1, 7)
    assert "(seeds 7 to 7):\n1 disagree, 0 (0.0%) have an inconclusive entry. Seeds that disagree: [7]." in text


def test_the_page_of_a_run_does_not_depend_on_chance() -> None:
    first, second = summaries(20), summaries(20)
    assert page(first, 20, 0) == page(second, 20, 0)
    assert inconclusive_share(first) == inconclusive_share(second)
