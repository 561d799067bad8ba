"""Can everything that refgrad promises at its top be had, and is none of it loaded before?"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

import refgrad
from tests.effort import each
from tests.repository.sources import ROOT

PAGE = ROOT / "docs" / "reference" / "python.md"
BLOCKS = re.findall(r"```(python|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@each("name", refgrad.__all__)
def test_a_public_name_is_there_and_listed(name: str) -> None:
    assert getattr(refgrad, name) is not None
    assert name in dir(refgrad)


def test_any_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'refgrad' has no attribute 'tensor'"):
        _ = refgrad.tensor  # type: ignore[attr-defined]


def test_listing_the_names_loads_nothing() -> None:
    program = "import sys, refgrad; dir(refgrad); print({'numpy', 'importlib.metadata'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-S", "-c", program], check=True, capture_output=True, text=True, cwd=".")
    assert printed.stdout == "set()\n"


def test_the_examples_of_the_page_print_what_it_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    namespace: dict[str, Any] = {}
    for kind, text in BLOCKS:
        if kind == "python":
            exec(compile(text, str(PAGE), "exec"), namespace)
        else:
            assert capsys.readouterr().out == text


@each("name", refgrad.__all__)
def test_a_public_name_has_an_example(name: str) -> None:
    assert any(f"refgrad.{name}" in text for kind, text in BLOCKS if kind == "python")
