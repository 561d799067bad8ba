"""Tests of what is seen to be special about a scenario."""

import pytest

from refgrad.grading.checks.isolation import rare_ingredients
from refgrad.scenario import parse


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = leaf float64[2] {0x1p+0 0x0p+0}\ny = exp x", set()),
        ("x = leaf float64[2] {0x1p+0 inf}\ny = exp x", {"not finite"}),
        ("x = leaf float64[] {0x1p+0}\nz = leaf float64[] {nan}\ny = add x z", {"not finite"}),
        ("x = leaf float64[0] {}\ny = exp x", {"empty"}),
        ("x = leaf float64[] {0x1p+0}\ny = add x x", {"shared"}),
    ],
)
def test_ingredients_are_named(text: str, found: set[str]) -> None:
    assert rare_ingredients(parse(text)) == found
