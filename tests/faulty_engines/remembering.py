"""Many engines are graded on the same scenarios, which are made and judged once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import pytest

from refgrad.grading import reliance
from refgrad.grading.checks import graphs
from refgrad.grading.checks.operators import derivatives
from refgrad.grading.judging import examination

ROOM = 10_000


@contextmanager
def remembered_scenarios() -> Iterator[None]:
    """Keep scenarios and their truths inside the block: they follow from seeds and scenarios alone."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (derivatives, "operator_scenario"),
            (derivatives, "edge_scenario"),
            (derivatives, "second_order_scenario"),
            (reliance, "required_features"),
            (reliance, "with_operands_read"),
            (reliance, "with_own_operands"),
            (reliance, "without_seeds"),
            (derivatives, "with_own_operands"),
            (graphs, "random_scenario"),
            (graphs, "operator_scenario"),
            (graphs, "lifecycle_scenario"),
            (derivatives, "contract_scenario"),
            (derivatives, "third_order_scenario"),
            (derivatives, "forward_scenario"),
            (examination, "CertifiedOracle"),
            (examination, "lower"),
        ):
            patch.setattr(module, name, lru_cache(maxsize=ROOM)(getattr(module, name)))
        yield
