"""Do the examples of docs/how-to/check-your-own-function.md run, and print what the page shows?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "check-your-own-function.md"


@pytest.mark.engines
def test_the_examples_print_what_the_page_shows() -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]")
    blocks = re.findall(r"```(python|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    printed: list[str] = []
    namespace: dict[str, Any] = {"print": lambda value: printed.append(str(value))}
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, str(PAGE), "exec"), namespace)
    shown = [text.rstrip("\n") for kind, text in blocks if kind == "text"]
    assert [without_multiples(text) for text in printed] == [without_multiples(text) for text in shown]


def without_multiples(text: str) -> str:
    """How many times more than rounding explains, an oracle may come to know better."""
    return re.sub(r"\S+(?= times what rounding)", "many", text)
