"""What the tests of checks share: engines with one fault each are tried on the same scenarios."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faulty_engines.remembering import remembered_scenarios


@pytest.fixture(autouse=True, scope="module")
def scenarios_are_remembered() -> Iterator[None]:
    with remembered_scenarios():
        yield
