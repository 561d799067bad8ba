"""Many engines are graded on the same scenarios, which are made and judged once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import pytest

from refgrad import generation, lifecycle
from refgrad.grading import reliance
from refgrad.grading.checks import isolation
from refgrad.grading.judging import examination

ROOM = 10_000


@contextmanager
def remembered_scenarios() -> Iterator[None]:
    """Keep scenarios and their truths inside the block: they follow from seeds and scenarios alone."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (generation, "operator_scenario"),
            (generation, "edge_scenario"),
            (generation, "second_order_scenario"),
            (reliance, "required_features"),
            (isolation, "with_operands_read"),
            (isolation, "with_own_operands"),
            (isolation, "without_seeds"),
            (generation, "random_scenario"),
            (generation, "lifecycle_scenario"),
            (generation, "contract_scenario"),
            (generation, "third_order_scenario"),
            (generation, "forward_scenario"),
            (examination, "CertifiedOracle"),
            (lifecycle, "lower"),
        ):
            patch.setattr(module, name, lru_cache(maxsize=ROOM)(getattr(module, name)))
        yield
