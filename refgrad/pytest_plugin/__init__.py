"""The pytest plugin: with ``--refgrad-engine NAME`` pytest also runs refgrad's checks on an engine, one item per check.

pytest loads this module in every session of every project in an environment where refgrad is installed, so it imports
the options only. The plugin proper is loaded once an engine is named.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from refgrad.pytest_plugin.options import GradeOptions

if TYPE_CHECKING:
    from refgrad.checking import GradientReport


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, all of which need --refgrad-engine."""
    group = parser.getgroup("refgrad", "grading an automatic differentiation engine")

    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("engine", "run refgrad's checks on this engine (or module:object)", {"metavar": "NAME"}),
        ("profile", "how much: smoke, standard (the default) or thorough", {"metavar": "NAME"}),
        ("expect", "accept the known failures that this file of TOML lists", {"metavar": "FILE"}),
        ("update", "write the file of --refgrad-expect anew by what is found", {"action": "store_true"}),
        ("output", "write the verdicts to DIR/ENGINE.json, and a journal while grading", {"metavar": "DIR"}),
        ("name", "name of the engine in the report, and of its file", {"metavar": "NAME"}),
        ("seed", "the seed that every generated scenario follows from (default 0)", {"type": int, "metavar": "N"}),
        ("select", "run the checks whose id matches, such as 'operators/*'", {"action": "append", "metavar": "GLOB"}),
        ("python", "run the engine in this interpreter, which needs no refgrad", {"metavar": "PATH"}),
        ("in-process", "run the engine in this process, for a debugger", {"action": "store_true"}),
        ("time-limit", "end an engine that runs one program longer", {"type": float, "metavar": "SECONDS"}),
        ("start-limit", "end an engine that takes longer to start", {"type": float, "metavar": "SECONDS"}),
        ("memory-limit", "let a started engine take no more memory than this", {"type": int, "metavar": "MIB"}),
        ("resume", "go on from the journal that an interrupted run left in DIR", {"action": "store_true"}),
    ]
    further = {"engine": ["--engine"], "expect": ["--expect"], "profile": []}  # pytest-profiling has --profile
    for name, text, fields in rows:
        names, dest = further.get(name, [f"--grade-{name}"]), f"grade_{name.replace('-', '_')}"
        group.addoption(f"--refgrad-{name}", *names, dest=dest, default=None, help=text, **fields)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the plugin proper if an engine is named. Raises UsageError for invalid options."""
    options = GradeOptions.of(config)
    if options is not None:
        importlib.import_module("refgrad.pytest_plugin.session").install(config, options)


@pytest.fixture(name="check_gradients")
def _check_gradients() -> Callable[..., GradientReport]:
    """Return ``refgrad.check_gradients``, for tests of a project's own functions."""
    function: Callable[..., GradientReport] = importlib.import_module("refgrad").check_gradients
    return function
