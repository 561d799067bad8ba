"""The measurement of graphs sees nodes and edges that are missing, double or out of place, and nothing else."""

from __future__ import annotations

import contextlib
from io import StringIO

import pytest

from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.measurements import Reading, take_measurement
from refgrad.grading.measurements.introspection import ExpectedNode, recorded
from refgrad.grading.settings import Settings
from refgrad.lifecycle import Policy
from refgrad.lifecycle.model import Model
from refgrad.native.adapter import TapeAdapter, find_adapter
from refgrad.native.display import program_lines
from refgrad.native.engine import Engine, start
from refgrad.native.languages import Python
from refgrad.native.library import RaisedError
from refgrad.native.observation import Observation, Raised
from refgrad.scenario import parse
from tests.effort import sampled
from tests.grading.measurements.broken_graphs import GRAPH_FAULTS, GraphFault

BEHAVIOURS = {b.id.partition("/")[2]: b for b in all_behaviours() if b.chapter == "introspection"}
LONGEST = 8


def measured(engine: Engine, behaviour: str, profile: str = "smoke") -> Reading:
    measurement = BEHAVIOURS[behaviour].measurement
    assert measurement is not None
    return take_measurement(engine, measurement, Settings(profile))


@pytest.mark.parametrize("name", BEHAVIOURS)
@pytest.mark.parametrize("engine", ["refgrad", pytest.param("torch", marks=pytest.mark.engines)])
def test_two_engines_record_what_they_must(engine: str, name: str) -> None:
    pytest.importorskip(engine, reason=f"needs {engine}")
    reading, measurement = measured(start(find_adapter(engine)), name), BEHAVIOURS[name].measurement
    assert reading.outcome == "passed"
    assert measurement is not None
    assert reading.examples >= len(measurement.parameters["graphs"])


@pytest.mark.parametrize("fault", sampled(GRAPH_FAULTS, 3, turns=3), ids=lambda fault: fault.name)
def test_a_wrong_graph_fails_the_behaviours_that_it_breaks_and_no_other(fault: GraphFault) -> None:
    engine = fault.start()
    result = {name: measured(engine, name) for name in BEHAVIOURS}
    wrong = {name for name, each in result.items() if each.outcome == "wrong"}
    assert fault.breaks <= wrong <= fault.breaks | fault.randomly
    assert {each.outcome for each in result.values()} <= {"passed", "wrong"}


def test_every_behaviour_is_broken_by_one_of_these() -> None:
    assert frozenset().union(*(fault.breaks for fault in GRAPH_FAULTS)) == set(BEHAVIOURS)


def test_a_wrong_random_graph_is_shrunk() -> None:
    result = measured(GRAPH_FAULTS[-1].start(), "leaves_are_reached", "standard")
    assert result.outcome == "wrong"
    assert result.scenario is not None
    assert len(result.scenario.steps) <= LONGEST
    assert result.message.startswith("the leaf ")


@pytest.mark.engines
def test_the_printed_program_prints_the_parents_of_nodes() -> None:
    pytest.importorskip("micrograd", reason="needs micrograd")
    adapter = find_adapter("micrograd")
    result = measured(start(adapter), "each_use_is_an_edge")
    assert (result.outcome, result.message) == ("wrong", "the node of a leads to [x], not to [x, x]")
    assert isinstance(result.program, tuple)
    program = Python().whole(adapter.setup, "\n".join(program_lines(result.program, Python())))
    printed = StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})
    assert printed.getvalue() == "x []\na ['x']\nb ['a']\n"


@pytest.mark.engines
@pytest.mark.parametrize("name", [name for name in BEHAVIOURS if name != "freed_graphs_can_still_be_walked"])
def test_tensors_may_be_nodes_so_that_writes_change_them_and_unrecorded_ones_lead_nowhere(name: str) -> None:
    pytest.importorskip("mygrad", reason="needs mygrad")
    assert measured(start(find_adapter("mygrad")), name).outcome in {"passed", "unsupported"}


@pytest.mark.engines
def test_an_engine_that_shows_no_graph_is_not_asked() -> None:
    pytest.importorskip("autograd", reason="needs autograd")
    assert measured(start(find_adapter("autograd")), "operands_are_parents") == Reading(
        "unsupported", "the engine has no graph"
    )


def test_an_adapter_that_spells_nodes_must_spell_where_they_lead() -> None:
    sound = find_adapter("refgrad")
    assert isinstance(sound, TapeAdapter)
    with pytest.raises(ValueError, match="parents: missing; node needs it"):
        TapeAdapter(
            name="half", setup="", leaf="{array}", backward="{output}.backward()", gradient="{leaf}.grad", node="{x}"
        )


def test_an_error_of_the_traversal_is_the_engines() -> None:
    model = Model(parse("x = leaf float64[] {0x1p+0} requires_grad\n"), Policy())
    node = Observation(data=[True, False])
    traversal = Observation(error=Raised("AttributeError", "no next_functions", ("AttributeError", "Exception")))
    with pytest.raises(RaisedError, match=r"^AttributeError: no next_functions$"):
        recorded(model, [ExpectedNode(0, "x", "x", ())], [node, traversal])
