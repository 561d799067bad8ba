"""Is a graph drawn completely, readably, and wherever something can lay it out?"""

from itertools import pairwise
from shutil import which
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import refgrad.engine as torch
from refgrad.engine import draw
from refgrad.engine.pictures import drawing, layout
from refgrad.engine.pictures.drawing import Drawing
from refgrad.engine.pictures.layout import layered
from tests.engine.pictures.graphs import half_freed, overwritten, small
from tests.snapshots.placement import PlainText

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(PlainText)


@pytest.fixture
def _igraph_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("igraph", reason="lays out pictures: pip install 'refgrad[draw]'")
    monkeypatch.setattr(drawing, "which", lambda _program: None)


def test_graphviz_is_told_of_every_node_every_state_and_a_legend(snapshot: SnapshotAssertion) -> None:
    loss, _, _ = small()
    pictures = {"recorded": draw(loss), "half freed": draw(half_freed()), "overwritten": draw(overwritten())}
    assert "\n".join(f"// {name}\n{picture.dot}" for name, picture in pictures.items()) == snapshot


def texts_of(picture: Drawing) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture.svg).iter(f"{SVG}text")]  # noqa: S314 (our own)


@pytest.mark.usefixtures("_igraph_alone")
@pytest.mark.parametrize("make", [lambda: small()[0], half_freed, overwritten, lambda: torch.zeros(2)])
def test_the_picture_has_every_line_the_legend_and_the_summary(make: object) -> None:
    assert callable(make)
    picture = draw(make())
    expected = [line for box in picture.boxes for line in box.lines] + [text for _, text in picture.legend]
    several = [f"{arrow.times} times" for arrow in picture.arrows if arrow.times > 1]
    assert sorted(texts_of(picture)) == sorted([*expected, *several, picture.summary])
    assert picture._repr_svg_() == picture.svg
    assert picture._repr_mimebundle_()["image/svg+xml"] == picture.svg


@pytest.mark.usefixtures("_igraph_alone")
def test_boxes_lie_inside_of_the_picture_and_apart() -> None:
    root = ET.fromstring(draw(small()[0]).svg)  # noqa: S314 (our own)
    boxes = [
        tuple(float(rectangle.attrib[key]) for key in ("x", "y", "width", "height"))
        for group in root.iter(f"{SVG}g")
        for rectangle in group.iter(f"{SVG}rect")
    ]
    for i, (x, y, width, height) in enumerate(boxes):
        assert 0 <= x <= x + width <= float(root.attrib["width"])
        assert 0 <= y <= y + height <= float(root.attrib["height"])
        for x2, y2, width2, height2 in boxes[:i]:
            assert x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y


@st.composite
def acyclic(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 12))
    pairs = [(i, j) for i in range(count) for j in range(i)]
    return count, draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20)) if pairs else []


EDGES = ((8, 6), (4, 3), (8, 1), (5, 3), (9, 5), (8, 0), (5, 4), (10, 6), (10, 1), (9, 2), (6, 2), (9, 7), (2, 1))
PUT_IN_ONE_PLACE = (11, [*EDGES, (6, 5), (6, 0)])
"""A graph of which igraph puts two boxes in one place."""


@given(acyclic())
@example(PUT_IN_ONE_PLACE)
def test_arrows_lead_down_a_layer_at_a_time_and_boxes_have_places_of_their_own(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    pytest.importorskip("igraph", reason="lays out pictures: pip install 'refgrad[draw]'")
    count, edges = graph
    laid_out = layered(count, edges)
    assert len(set(laid_out.places)) == count
    for (start, end), route in zip(edges, laid_out.routes, strict=True):
        assert (route[0], route[-1]) == (laid_out.places[start], laid_out.places[end])
        assert all(lower - upper == 1 for (_, upper), (_, lower) in pairwise(route))


def test_graphviz_lays_out_where_it_is_installed() -> None:
    if which("dot") is None:
        pytest.skip("needs Graphviz: its program dot is not there")
    assert {"legend", "leaf 1"} <= set(texts_of(draw(small()[0])))


def test_without_anything_that_lays_out_graphs_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_name: str) -> object:
        raise ModuleNotFoundError

    monkeypatch.setattr(drawing, "which", lambda _program: None)
    monkeypatch.setattr(layout, "import_module", absent)
    picture = draw(small()[0])
    with pytest.raises(RuntimeError, match=r"pip install 'refgrad\[draw\]'"):
        _ = picture.svg
    assert picture.dot.startswith("digraph")


def test_a_graph_that_nobody_can_read_is_not_drawn() -> None:
    y = torch.tensor(1.0, requires_grad=True)
    for _ in range(1001):
        y = y * 2
    with pytest.raises(ValueError, match=r"1,002 nodes, and more than 1,000 are no picture"):
        draw(y)
