"""Whether what fails in a dtype is about that dtype."""

from __future__ import annotations

from typing import Final

from refgrad.generation import with_dtypes
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Finding
from refgrad.native.engine import Engine
from refgrad.scenario import Scenario

TRIED_IN_DTYPE: Final = 3
"""So many scenarios tell whether an operator runs in a dtype at all."""


def is_about_dtype(scenario: Scenario, finding: Finding, engine: Engine) -> bool:
    """Whether a failure is about the dtype: what fails in float64, too, is for others to tell.

    A refusal is not: libraries leave operators out of a dtype, for some attributes or in company of another dtype.
    """
    return (
        finding.outcome != "unexpected-error" and not examine(with_dtypes(scenario, lambda _: "float64"), engine).failed
    )
