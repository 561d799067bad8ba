"""Arrays that a program computes into are given out again when nobody holds them any more."""

from __future__ import annotations

import numpy as np

from refgrad.engine.replay.program import Buffers


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
