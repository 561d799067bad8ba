"""Tests of which values of attributes are accepted: all that are drawn, and none that libraries refuse."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import operator_scenario
from refgrad.generation.attributes.rules import accepts
from refgrad.interpreter import Float64, evaluate, keywords
from refgrad.operators import operator_table
from tests.effort import each

WITH_ATTRIBUTES = [name for name, row in operator_table().items() if row.attributes]

REFUSED = [
    ("gather", [(2, 3, 2)], {"axis": 3, "indices": (((0, 0), (0, 0), (0, 0)),) * 2}),
    ("gather", [(2,)], {"axis": 0, "indices": (-1,)}),
    ("scatter", [(3,), (2,)], {"axis": 0, "indices": (1, 1)}),
    ("index_select", [(3,)], {"axis": 0, "indices": (-1,)}),
    ("take_flat", [(3,)], {"indices": (3,)}),
    ("unflatten", [(4,)], {"axis": 1, "sizes": (2, 2)}),
    ("unflatten", [(4,)], {"axis": 0, "sizes": (-3, 2)}),
    ("reshape", [(4,)], {"shape": (-8, 2)}),
    ("reshape", [(4,)], {"shape": (-1, -1)}),
    ("expand", [(2,)], {"shape": (-1, 2)}),
    ("sum", [(2, 3)], {"axis": (0, -2)}),
    ("sum", [(2, 3)], {"axis": ()}),
    ("diagonal", [(2, 3)], {"axes": (0,)}),
    ("diagonal", [(2, 3)], {"axes": (1, -1)}),
    ("index", [(2, 3)], {"index": (0, (1, 2))}),
    ("repeat_interleave", [(2,)], {"axis": 0, "repeats": (2,)}),
    ("split_at", [(4,)], {"axis": 0, "points": (3, 1)}),
    ("tile", [(2,)], {"reps": (-1,)}),
    ("roll", [(2, 3)], {"axis": (0,), "shift": 1}),
    ("pad", [(2, 3)], {"pad_width": ((1, 1),)}),
    ("clip", [(2,)], {"lower": 1.0, "upper": 0.0}),
    ("masked_select", [(2, 3)], {"mask": (True, False)}),
    ("compress", [(2,)], {"axis": 0, "condition": (True, False, False)}),
]


@given(name=st.sampled_from(WITH_ATTRIBUTES), seed=st.integers(0, 2**32))
def test_whatever_is_drawn_is_accepted(name: str, seed: int) -> None:
    scenario = operator_scenario(seed, name)
    values = evaluate(scenario, Float64())
    for step in scenario.applications:
        operator = operator_table()[step.operator]
        shapes = tuple(values[argument].shape for argument in step.arguments)
        assert accepts(operator, shapes, operator.bind(keywords(step)))


@each(("name", "shapes", "given_attributes"), REFUSED)
def test_what_libraries_refuse_is_not_accepted(
    name: str, shapes: list[tuple[int, ...]], given_attributes: dict[str, Any]
) -> None:
    operator = operator_table()[name]
    drawn = operator_scenario(0, name).applications[0]
    attributes = operator.bind(keywords(drawn)) | given_attributes
    assert given_attributes.keys() <= set(operator.attribute_names)
    assert not accepts(operator, tuple(shapes), attributes)
