"""refgrad: a conformance suite for automatic differentiation, with a reference engine that passes it.

Importing this package loads nothing else: no engine, no oracle, no test runner. The public names are those that
``__init__.pyi`` imports, which type checkers read. They are loaded on first use; everything else is imported from its
subpackage, such as `refgrad.engine` or `refgrad.strategies`.
"""

import importlib
from pathlib import Path

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")

_HOMES = {line.split()[-1]: line.split()[1] for line in _STUB.splitlines() if line.startswith("from ")}
"""Modules of the public names."""

__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604 (names of the stub)


def __getattr__(name: str) -> object:
    """Import a public name from its module and return it. Raise AttributeError for any other name."""
    if name == "__version__":
        value: object = importlib.import_module("refgrad.specification").installed_version()
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'refgrad' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return all names, loaded or not."""
    return sorted({*globals(), *__all__})
