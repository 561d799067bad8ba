"""Attribution of failures to a dtype."""

from __future__ import annotations

from typing import Final

from refgrad.generation import with_dtypes
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Finding
from refgrad.native.engine import Engine
from refgrad.scenario import Scenario

TRIED_IN_DTYPE: Final = 3
"""Number of scenarios that show whether an operator runs in a dtype at all."""


def is_about_dtype(scenario: Scenario, finding: Finding, engine: Engine) -> bool:
    """Return True if a failure is specific to the dtype: the scenario does not fail in float64.

    Unexpected errors do not count: libraries may lack an operator in a dtype, for some attributes or in combination
    with another dtype.
    """
    return (
        finding.outcome != "unexpected-error" and not examine(with_dtypes(scenario, lambda _: "float64"), engine).failed
    )
