"""Every subset of an operator's operands wants gradients at second order, in every run."""

import pytest

from refgrad.generation import Profile, subsets_of_second_order
from refgrad.scenario import Scenario


def wanted(scenario: Scenario) -> tuple[str, str]:
    (grad,) = scenario.gradients
    return "".join(leaf.name for leaf in scenario.leaves if leaf.requires_grad and leaf.name != "w"), grad.leaf


@pytest.mark.parametrize("weighted", [None, True, False])
def test_every_subset_is_differentiated_first_by_each_of_its_members(*, weighted: bool | None) -> None:
    made = subsets_of_second_order("addcmul", Profile(), weighted=weighted)
    assert [wanted(scenario) for scenario in made] == [
        ("x1", "x1"),
        ("x2", "x2"),
        ("x3", "x3"),
        ("x1x2", "x1"),
        ("x1x2", "x2"),
        ("x1x3", "x1"),
        ("x1x3", "x3"),
        ("x2x3", "x2"),
        ("x2x3", "x3"),
    ]


def test_an_operator_of_one_operand_has_none() -> None:
    assert subsets_of_second_order("sin", Profile(), weighted=None) == ()
