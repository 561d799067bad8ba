"""Does the comparison of checkers ask all of them about the same functions, and print what it measured?"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from tests.benchmarks.checked_graphs import generated, graph_of, is_defined, sized
from tests.benchmarks.checkers import Measured, page, random_place
from tests.benchmarks.peers import CHECKERS, Checker, Fault

pytestmark = pytest.mark.engines

LARGE_ERROR = 1.0
GRAPHS = 5


@pytest.fixture(params=CHECKERS, ids=lambda kind: kind.__name__)
def checker(request: pytest.FixtureRequest) -> Checker:
    for library in ("torch", "autograd"):
        if find_spec(library) is None:
            pytest.skip(f"needs refgrad[{library}]")
    found: Checker = request.param()
    return found


def test_a_checker_passes_right_gradients_and_finds_an_entry_that_is_twice_what_it_should_be(checker: Checker) -> None:
    found = 0
    for graph in generated(GRAPHS, near=False):
        place = random_place(graph)
        assert place is not None
        assert checker.passes(graph)
        found += not checker.passes(graph, Fault(*place, LARGE_ERROR))
    assert found  # autograd and fast_mode see only a projection of the error


def test_a_graph_has_one_output_and_no_leaf_that_it_does_not_need() -> None:
    for graph in generated(GRAPHS, near=True):
        assert is_defined(graph)
        assert graph_of(graph.scenario).scenario.leaves == graph.scenario.leaves


@pytest.mark.parametrize("count", [10, 36])
def test_the_function_of_any_size_has_twenty_operators_and_a_scalar_output(count: int) -> None:
    graph = sized(count)
    assert len(graph.scenario.applications) == 20
    assert [array.shape for array in graph.arrays] == [(count,)]
    assert graph.cotangent.shape == ()


def test_the_page_shows_rates_with_what_they_were_counted_on() -> None:
    times = (1.0, 2.0, 30.0, 400.0, 5000.0)
    rows = [
        Measured("ours", 1e-12, 200, (0, 2000), (1, 500), tuple(np.array(times) / 10)),
        Measured("torch.autograd.gradcheck", None, 200, (0, 100), (3, 100), times),
    ]
    lines = page(rows).splitlines()
    assert "| ours | 1e-12 | 0 (0 / 2,000) | 20 (1 / 500) | 0.1 | 0.2 | 3 | 40 | 500 |" in lines
    assert "| torch.autograd.gradcheck | no error | 0 (0 / 100) | 300 (3 / 100) | 1 | 2 | 30 | 400 | 5,000 |" in lines
    assert "| ours | 10 | 10 | 10 | 10 | 10 |" in lines
