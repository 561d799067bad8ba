"""Slopes are looked for in float64 where a function computes in it, and else in its own precision."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from refgrad.checking.slopes import finest as module
from refgrad.checking.slopes.finest import finest, scale_of


@pytest.mark.parametrize(
    ("finer", "own", "in_float64"),
    [
        ("float64", "float32", True),
        ("float32", "float32", False),
        ("int64", "int64", True),
        ("float64", "float64", True),
    ],
)
def test_a_function_that_rounds_inside_keeps_its_own_steps(
    monkeypatch: pytest.MonkeyPatch, finer: str, own: str, *, in_float64: bool
) -> None:
    raised: Any = SimpleNamespace(values=lambda point: (point[0].astype(finer),))
    monkeypatch.setattr(module, "_finer", lambda _subject: iter([raised]))
    subject: Any = SimpleNamespace(point=(np.array([1.0, 2.0], np.float32),))
    found = finest(subject, (np.array([1.0, 2.0], own),), "float32")
    assert (found.subject is raised) is in_float64
    assert found.scale == scale_of("float64" if in_float64 else "float32")
