"""Tests of what a profile refuses, and of the operators that follow from it."""

import re
from typing import Any

import pytest

from refgrad.generation import GenerationError, Profile
from refgrad.generation.profile import (
    COUNTS,
    GRAPH_FAMILIES,
    PROBABILITIES,
    TABLE,
    reducing_operators,
    weighted_operators,
)
from refgrad.operators import operator_table
from tests.repository.sources import PACKAGE, python_files


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"operators": frozenset({"add", "tangens"})}, "'tangens', which is no operator"),
        ({"length": (0, 3)}, "least"),
        ({"length": (4, 3)}, "least"),
        ({"max_rank": -1}, "at least 0"),
        ({"max_backwards": 0}, "at least 1"),
        ({"dimensions": ()}, "positive lengths"),
        ({"dimensions": (2, 0)}, "positive lengths"),
        ({"edges": 1.5}, "edges is a probability"),
        ({"constants": -0.1}, "constants is a probability"),
    ],
)
def test_a_field_out_of_range_is_an_error(field: dict[str, Any], message: str) -> None:
    with pytest.raises(GenerationError, match=message):
        Profile(**field)


def test_every_value_of_the_table_is_used() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in python_files(PACKAGE))
    quoted = set(re.findall(r'"(\w+)"', source)) | {f"other_{size}" for size in ("thousands", "tens_of_thousands")}
    unused = {name for section in TABLE for name in TABLE[section] if section != "fixed_cases"} - quoted
    assert unused == set()


def test_every_family_has_its_share_of_the_choice() -> None:
    weighted = weighted_operators(Profile())
    assert set(weighted) == set(operator_table().values())
    for family in {operator.family for operator in weighted}:
        assert sum(operator.family == family for operator in weighted) >= COUNTS["family_share"]


def test_what_graphs_are_made_of_has_its_share_whatever_else_there_is() -> None:
    for profile in (Profile(), Profile(operators=frozenset({"add", "sum", "gelu", "softmax", "softplus", "det"}))):
        weighted = weighted_operators(profile)
        share = sum(operator.family in GRAPH_FAMILIES for operator in weighted) / len(weighted)
        assert 0 <= share - PROBABILITIES["graph_share"] <= 0.05
        assert weighted[0].family in GRAPH_FAMILIES


def test_without_what_graphs_are_made_of_the_others_are_drawn() -> None:
    assert {row.name for row in weighted_operators(Profile(operators=frozenset({"gelu", "det"})))} == {"gelu", "det"}


def test_reducing_operators_are_told_by_their_attributes() -> None:
    assert {operator.name for operator in reducing_operators(Profile())} == {"sum", "mean", "prod"}
    assert reducing_operators(Profile(scalars_only=True)) == ()
