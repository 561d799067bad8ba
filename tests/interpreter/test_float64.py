"""Float64 values of a scenario: computed once, and not to be changed."""

from __future__ import annotations

import pytest

from refgrad.interpreter import float64_values
from refgrad.scenario import parse


def test_values_that_are_kept_cannot_be_written_to() -> None:
    values = float64_values(parse("x = leaf float64[2] {0x1p+0 0x1p+1}\ny = exp x\n"))
    with pytest.raises(ValueError, match="read-only"):
        values["y"][0] = 0.0
