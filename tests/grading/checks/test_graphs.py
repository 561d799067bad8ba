"""Tests of the profiles of the random graphs that are tried."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from refgrad.grading.checks.graphs import _profile


@pytest.mark.parametrize(
    ("scalars_only", "several", "expected"),
    [
        (False, False, {"seeds": True, "max_backwards": 1, "accumulate": False}),
        (False, True, {"seeds": True, "max_backwards": 3, "accumulate": True}),
        (True, True, {"seeds": False, "max_backwards": 3, "accumulate": True}),
    ],
)
def test_a_graph_has_any_length_and_one_backward_or_several(
    *, scalars_only: bool, several: bool, expected: dict[str, Any]
) -> None:
    bench: Any = SimpleNamespace(
        profile=dict,
        reliance=SimpleNamespace(takes_seeds=True),
        engine=SimpleNamespace(adapter=SimpleNamespace(scalars_only=scalars_only)),
    )
    profile: Any = _profile(bench, ["exp"], several=several, dtype="float32")
    fixed = {"operators": {"exp"}, "joining": 0.5, "length": (1, 32), "dtype": "float32"}
    assert profile == {**fixed, **expected}
