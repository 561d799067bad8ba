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

_HOMES: Mapping[str, str] = MappingProxyType({
    "AdapterError": "refgrad.native.adapter",
    "FunctionalAdapter": "refgrad.native.adapter",
    "GradientError": "refgrad.checking",
    "Policy": "refgrad.lifecycle",
    "Report": "refgrad.report.document",
    "ReportError": "refgrad.report.document",
    "Scenario": "refgrad.scenario",
    "ScenarioError": "refgrad.scenario",
    "TapeAdapter": "refgrad.native.adapter",
    "Verdict": "refgrad.grading.judging.verdict",
    "check_gradients": "refgrad.checking",
    "examine": "refgrad.grading.judging.examination",
    "parse": "refgrad.scenario",
    "read_adapter": "refgrad.native.adapter",
    "read_report": "refgrad.report.document",
    "reproduce": "refgrad.native.engine",
    "spell": "refgrad.native.adapter",
    "start": "refgrad.native.engine",
})


if not TYPE_CHECKING:  # so that type checkers still report unknown names

    def __getattr__(name: str) -> object:
        """Import a public name from its module and return it. Raise AttributeError for any other name."""
        if name == "__version__":
            value: object = _installed_version()
        elif name in _HOMES:
            value = getattr(importlib.import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module 'refgrad' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return all names, loaded or not."""
    return sorted({*globals(), *__all__})


def _installed_version() -> str:
    """Return the version of the installed distribution, or ``unknown`` if there is none, as in a bare checkout."""
    metadata = importlib.import_module("importlib.metadata")
    try:
        return str(metadata.version("refgrad"))
    except metadata.PackageNotFoundError:
        return "unknown"
