"""refgrad: a conformance suite for automatic differentiation, with a reference engine that passes it.

Importing this package loads nothing else: no engine, no oracle, no test runner. The names below are loaded on first
use; everything else is imported from its subpackage, such as `refgrad.engine` or `refgrad.strategies`.
"""

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refgrad.checking import GradientError, check_gradients
    from refgrad.grading.judging.examination import examine
    from refgrad.grading.judging.verdict import Verdict
    from refgrad.lifecycle import Policy
    from refgrad.native.adapter import AdapterError, FunctionalAdapter, TapeAdapter, read_adapter, spell
    from refgrad.native.engine import reproduce, start
    from refgrad.report.document import Report, ReportError, read_report
    from refgrad.scenario import Scenario, ScenarioError, parse

    __version__: str

__all__ = [
    "AdapterError",
    "FunctionalAdapter",
    "GradientError",
    "Policy",
    "Report",
    "ReportError",
    "Scenario",
    "ScenarioError",
    "TapeAdapter",
    "Verdict",
    "__version__",
    "check_gradients",
    "examine",
    "parse",
    "read_adapter",
    "read_report",
    "reproduce",
    "spell",
    "start",
]

_HOMES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "refgrad.checking": ("GradientError", "check_gradients"),
    "refgrad.grading.judging.examination": ("examine",),
    "refgrad.grading.judging.verdict": ("Verdict",),
    "refgrad.lifecycle": ("Policy",),
    "refgrad.native.adapter": ("AdapterError", "FunctionalAdapter", "TapeAdapter", "read_adapter", "spell"),
    "refgrad.native.engine": ("reproduce", "start"),
    "refgrad.report.document": ("Report", "ReportError", "read_report"),
    "refgrad.scenario": ("Scenario", "ScenarioError", "parse"),
})
"""Modules of the public names."""


if not TYPE_CHECKING:  # so that type checkers still report unknown names

    def __getattr__(name: str) -> object:
        """Import a public name from its module and return it. Raise AttributeError for any other name."""
        if name == "__version__":
            value: object = importlib.import_module("refgrad.specification").installed_version()
        elif home := next((module for module, names in _HOMES.items() if name in names), None):
            value = getattr(importlib.import_module(home), name)
        else:
            raise AttributeError(f"module 'refgrad' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return all names, loaded or not."""
    return sorted({*globals(), *__all__})
