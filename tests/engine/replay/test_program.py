"""Arrays that a program computes into are given out again when nobody holds them any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import refgrad.engine as torch
from refgrad.engine import record
from refgrad.engine.replay import recorded
from refgrad.engine.replay.program import Buffers, ReplayProgram
from tests.snapshots.placement import PlainText

MATRIX, ROW, NUMBER = np.arange(6.0).reshape(2, 3) - 2.5, np.array([0.5, 2.0, -1.0]), np.float64(1.5)
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "product": (lambda x, y: x * y, (MATRIX, MATRIX + 7)),
    "stretched": (lambda x, y: x * y + y, (MATRIX, ROW)),
    "scalars": (lambda x: x * x - x / 3, (NUMBER,)),
    "powers": (lambda x: x**3 + x**-1, (MATRIX,)),
    "choices": (lambda x: torch.relu(x) + torch.abs(x) * torch.tanh(x), (MATRIX,)),
    "where": (lambda x, y: torch.where(x > y, x, y), (MATRIX, MATRIX[::-1])),
    "one of two": (lambda x: torch.maximum(x, 2 * x).sum(), (ROW,)),
    "matrices": (lambda x, y: (x @ y).exp(), (MATRIX, MATRIX.T)),
    "views": (lambda x: x.T.reshape(6)[1:4] * x[0], (MATRIX,)),
    "a sum of many": (lambda x: (x + x * x + torch.sin(x) * x).mean(0), (MATRIX,)),
    "a composite": (lambda x: torch.softmax(x, -1), (MATRIX,)),
    "the input": (lambda x: torch.relu(x).reshape(3, 2), (MATRIX,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_replay_runs_these_lines(name: str, monkeypatch: pytest.MonkeyPatch, snapshot: Any) -> None:
    function, arrays = FUNCTIONS[name]
    programs: list[ReplayProgram] = []

    def kept(names: dict[str, Any]) -> ReplayProgram:
        programs.append(ReplayProgram(names))
        return programs[-1]

    monkeypatch.setattr(recorded, "ReplayProgram", kept)
    inputs = [torch.tensor(array, requires_grad=True) for array in arrays]
    record(function).gradients(*inputs, seed=torch.ones_like(function(*inputs)))
    lines = [line for each in programs for line in (*each.lines, f"{len(each.buffers.owned)} buffers")]
    assert "\n".join(lines) == snapshot(extension_class=PlainText)


def test_an_array_is_given_out_again_when_its_last_holder_drops_it() -> None:
    buffers, like = Buffers(), np.zeros((2, 3))
    first = buffers.take(like)
    buffers.hold(first)
    buffers.hold(first[:1])
    buffers.drop(first)
    assert buffers.take(like) is not first
    buffers.drop(first[:1])
    assert buffers.take(like) is first
    assert buffers.take(like) is not first
