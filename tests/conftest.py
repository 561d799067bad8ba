"""What holds for all tests."""

from __future__ import annotations

import gc

import pytest
from hypothesis import settings

# Nothing is failed for its time: how fast a machine is says nothing of what is right.
settings.register_profile("loop", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=400)
settings.load_profile("loop")


@pytest.fixture(autouse=True, scope="module")
def _collector() -> None:
    """Leave what is there before a file of tests out of its garbage collections: some tests make hundreds of them."""
    gc.collect()
    gc.freeze()
