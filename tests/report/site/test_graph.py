"""A scenario is drawn with a box a tensor and an arrow an operand."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

from refgrad.report import ITEMS
from refgrad.report.site.pictures import graph_of

TEXT = """\
x = leaf float64[] {0x1.8p+0} requires_grad
c = leaf float64[] {0x1p+0}
a = multiply x x
b = add a c
g = grad b x
backward g
read grad x
"""


def boxes(picture: str) -> dict[str, str]:
    """Return the classes of boxes by their labels."""
    return dict(reversed(each) for each in re.findall(r'<g class="([\w ]+)"><title>.*?>([^<]*)</text></g>', picture))


def test_each_tensor_is_a_box_of_its_kind() -> None:
    assert boxes(graph_of(TEXT, "x")) == {
        "x = leaf": "leaf subject",
        "c = leaf": "constant",
        "a = multiply": "result",
        "b = add": "result walked",
        "g = grad of b by x": "derivative walked",
    }


def test_each_operand_is_an_arrow() -> None:
    tree = ET.fromstring(graph_of(TEXT))  # noqa: S314 (a picture of our own)
    assert len(tree.findall("g[@class='arrows']/path")) == 6


def test_no_two_boxes_overlap_and_all_are_in_the_picture() -> None:
    tree = ET.fromstring(graph_of(TEXT))  # noqa: S314 (a picture of our own)
    places = [[float(box.attrib[name]) for name in ("x", "y", "width", "height")] for box in tree.iter("rect")]
    width, height = (float(tree.attrib[name]) for name in ("width", "height"))
    assert all(x >= 0 and y >= 0 and x + w <= width + 1 and y + h <= height + 1 for x, y, w, h in places)
    rows = sorted((y, x, w) for x, y, w, _ in places)
    assert all(y != v or x + w <= u for (y, x, w), (v, u, _) in pairwise(rows))


def test_what_is_no_scenario_or_too_large_is_not_drawn() -> None:
    assert graph_of("x = leaf float64[] {0x1p+0}\n")
    assert graph_of("") == graph_of("<script>") == ""
    long = "x = leaf float64[] {0x1p+0} requires_grad\na0 = exp x\n"
    long += "".join(f"a{n + 1} = exp a{n}\n" for n in range(ITEMS["tensors"]))
    assert graph_of(long) == ""
