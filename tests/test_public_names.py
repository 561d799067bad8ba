"""Can everything that refgrad promises at its top be had, and is none of it loaded before?"""

from __future__ import annotations

import subprocess
import sys

import pytest

import refgrad


@pytest.mark.parametrize("name", refgrad.__all__)
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
