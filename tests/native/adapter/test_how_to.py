"""Are the examples of docs/how-to/plug-in-an-engine.md adapters, and do those run that need no library?"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from refgrad.grading.first_adapter.candidates import DIRECTIONS, OTHER_LANGUAGES
from refgrad.grading.judging.examination import examine
from refgrad.native.adapter import FunctionalAdapter, TapeAdapter, read_adapter
from refgrad.native.engine import start
from refgrad.scenario import parse
from tests.native import tiny_duals
from tests.repository.sources import ROOT

JAVASCRIPT = Path(__file__).parents[1] / "javascript"
HOW_TO = (ROOT / "docs/how-to/plug-in-an-engine.md").read_text(encoding="utf-8")
EXAMPLES = [block for block in re.findall(r"```toml\n(.*?)```", HOW_TO, re.DOTALL) if "kind = " in block]

SCENARIO = """
x = leaf float64[] {0x1.8p+0} requires_grad
y = leaf float64[] {0x1p-1} requires_grad
a = multiply x y
b = exp a
backward b seed float64[] {0x1p+1}
read grad x
read grad y
"""


@pytest.mark.parametrize("example", EXAMPLES, ids=["tape", "javascript", "javascript-vjp", "vjp", "dual", "symbolic"])
def test_the_examples_of_the_how_to_are_engine_files(example: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(example, encoding="utf-8")
    assert read_adapter(path).name == "mine"


def test_the_python_examples_of_the_how_to_are_adapters() -> None:
    kinds: list[type] = []
    for example in (block for block in re.findall(r"```python\n(.*?)```", HOW_TO, re.DOTALL) if "ADAPTER = " in block):
        names: dict[str, Any] = {}
        exec(compile(example, "how-to", "exec"), names)
        kinds.append(type(names["ADAPTER"]))
    assert kinds == [TapeAdapter, FunctionalAdapter]


def test_the_example_with_dual_numbers_gives_right_gradients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = [block for block in EXAMPLES if "my_duals" in block]
    monkeypatch.setitem(sys.modules, "my_duals", tiny_duals)
    (tmp_path / "mine.toml").write_text(example, encoding="utf-8")
    assert examine(parse(SCENARIO), start(read_adapter(tmp_path / "mine.toml"))).outcome == "passed"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_the_functional_example_in_javascript_gives_right_gradients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = [block for block in EXAMPLES if "seed =>" in block]
    shutil.copy(JAVASCRIPT / "derivatives.js", tmp_path / "my_engine.js")
    monkeypatch.setenv("NODE_PATH", str(tmp_path))
    (tmp_path / "mine.toml").write_text(example, encoding="utf-8")
    assert examine(parse(SCENARIO), start(read_adapter(tmp_path / "mine.toml"))).outcome == "passed"


def test_messages_name_sections_that_there_are() -> None:
    named = [name for text in (*DIRECTIONS.values(), OTHER_LANGUAGES) for name in re.findall("'(.*?)' in docs", text)]
    assert named
    assert all(f"\n## {name}\n" in HOW_TO for name in named)
