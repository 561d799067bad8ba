"""refgrad: a conformance suite for automatic differentiation, with a reference engine that passes it.

Importing this package loads nothing else: no engine, no oracle, no test runner. The names below are loaded when
they are first asked for; everything else is imported from its part, such as `refgrad.engine` or `refgrad.strategies`.
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
    from refgrad.scenario import Scenario, ScenarioError, parse

    __version__: str

__all__ = [
    "AdapterError",
    "FunctionalAdapter",
    "GradientError",
    "Policy",
    "Scenario",
    "ScenarioError",
    "TapeAdapter",
    "Verdict",
    "__version__",
    "check_gradients",
    "examine",
    "parse",
    "read_adapter",
    "reproduce",
    "spell",
    "start",
]

_HOMES: Mapping[str, str] = MappingProxyType({
    "AdapterError": "refgrad.native.adapter",
    "FunctionalAdapter": "refgrad.native.adapter",
    "GradientError": "refgrad.checking",
    "Policy": "refgrad.lifecycle",
    "Scenario": "refgrad.scenario",
    "ScenarioError": "refgrad.scenario",
    "TapeAdapter": "refgrad.native.adapter",
    "Verdict": "refgrad.grading.judging.verdict",
    "check_gradients": "refgrad.checking",
    "examine": "refgrad.grading.judging.examination",
    "parse": "refgrad.scenario",
    "read_adapter": "refgrad.native.adapter",
    "reproduce": "refgrad.native.engine",
    "spell": "refgrad.native.adapter",
    "start": "refgrad.native.engine",
})


if not TYPE_CHECKING:  # so that a type checker still knows which names there are

    def __getattr__(name: str) -> object:
        """Load a public name from the part that it lives in. Raises AttributeError for any other."""
        if name == "__version__":
            value: object = _installed_version()
        elif name in _HOMES:
            value = getattr(importlib.import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module 'refgrad' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Every name, loaded or not."""
    return sorted({*globals(), *__all__})


def _installed_version() -> str:
    """The version that the installed distribution carries; a bare checkout has none."""
    metadata = importlib.import_module("importlib.metadata")
    try:
        return str(metadata.version("refgrad"))
    except metadata.PackageNotFoundError:
        return "unknown"
