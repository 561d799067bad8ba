"""The tutorial of the reference engine runs, prints what it shows, and has pictures of its own graphs."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from refgrad.engine import draw

FOLDER = Path(__file__).parents[2] / "docs" / "tutorial"
BLOCK = re.compile(r"```python\n(?P<program>.*?)```|```text\n(?P<shown>.*?)```|!\[.*?\]\((?P<picture>.*?)\)", re.DOTALL)
LABEL = re.compile(r'label="(.*?)"')
DRAWN = {"recorded.svg": "y", "freed.svg": "y", "slope.svg": "slope"}
"""Of which tensor a picture is."""


def walked() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield each kind of block with its text and the names that its program has made, once all before it have run."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for block in BLOCK.finditer((FOLDER / "reference-engine.md").read_text(encoding="utf-8")):
            kind = str(block.lastgroup)
            if kind == "program":
                exec(compile(block[kind], "tutorial", "exec"), names)
                continue
            yield kind, block[kind], names | {"printed": printed.getvalue()}
            printed.seek(printed.truncate(0))


def test_the_tutorial_prints_what_it_shows() -> None:
    shown = [(text, names["printed"]) for kind, text, names in walked() if kind == "shown"]
    assert len(shown) > 5
    for text, printed in shown:
        assert printed == text


@pytest.mark.parametrize("picture", DRAWN)
def test_its_pictures_are_drawings_of_its_graphs(picture: str) -> None:
    (graph,) = [draw(names[DRAWN[picture]]) for kind, text, names in walked() if kind == "picture" and text == picture]
    said = [text.text or "" for text in ET.parse(FOLDER / picture).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314 (our own)
    drawn = [line for label in LABEL.findall(graph.dot) for line in label.split("\\n") if line != "legend"]
    assert sorted(said) == sorted(drawn)
