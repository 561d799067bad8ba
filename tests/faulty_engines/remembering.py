"""How are many engines graded on the same scenarios without making and judging these anew for each?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import pytest

from refgrad.harness import examination, grading, graph_checks, lifecycle_checks, reliance, rule_checks

ROOM = 10_000


@contextmanager
def remembered_scenarios() -> Iterator[None]:
    """Keep scenarios and their truths inside the block: they follow from seeds and scenarios alone."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (grading, "operator_scenario"),
            (grading, "edge_scenario"),
            (reliance, "required_features"),
            (graph_checks, "random_scenario"),
            (graph_checks, "operator_scenario"),
            (lifecycle_checks, "lifecycle_scenario"),
            (rule_checks, "contract_scenario"),
            (rule_checks, "third_order_scenario"),
            (examination, "CertifiedOracle"),
            (examination, "lower"),
        ):
            patch.setattr(module, name, lru_cache(maxsize=ROOM)(getattr(module, name)))
        yield
