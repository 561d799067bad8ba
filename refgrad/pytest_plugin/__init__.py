"""The pytest plugin: with ``--engine NAME`` pytest also runs refgrad's checks on an engine, one item a check.

pytest loads this module in every session of every project in an environment where refgrad is installed, so it imports
nothing: the plugin proper is loaded once an engine is named.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from refgrad.pytest_plugin.options import GradeOptions

if TYPE_CHECKING:
    from refgrad.checking import GradientReport


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the options; none of them does anything without --engine."""
    group = parser.getgroup("refgrad", "grading an automatic differentiation engine")
    group.addoption(
        "--engine", dest="grade_engine", metavar="NAME", help="run refgrad's checks on this engine (or module:object)"
    )
    group.addoption(
        "--profile", dest="grade_profile", metavar="NAME", help="how much: smoke, standard (the default) or thorough"
    )
    group.addoption(
        "--expect", dest="grade_expect", metavar="FILE", help="accept the known failures that this file of TOML lists"
    )
    group.addoption(
        "--grade-update", action="store_true", default=None, help="write the file of --expect anew by what is found"
    )
    group.addoption(
        "--grade-output", metavar="DIR", help="write the verdicts to DIR/ENGINE.json, and a journal while grading"
    )
    group.addoption(
        "--grade-seed", type=int, metavar="N", help="the seed that every generated scenario follows from (default 0)"
    )
    group.addoption(
        "--grade-select", action="append", metavar="GLOB", help="run the checks whose id matches, such as 'operators/*'"
    )
    group.addoption("--grade-python", metavar="PATH", help="run the engine in this interpreter, which needs no refgrad")
    group.addoption(
        "--grade-in-process", action="store_true", default=None, help="run the engine in this process, for a debugger"
    )
    group.addoption(
        "--grade-time-limit", type=float, metavar="SECONDS", help="end an engine that runs one program longer"
    )
    group.addoption(
        "--grade-start-limit", type=float, metavar="SECONDS", help="end an engine that takes longer to start"
    )
    group.addoption(
        "--grade-memory-limit", type=int, metavar="MIB", help="let an engine take no more memory than this once started"
    )
    group.addoption(
        "--grade-resume",
        action="store_true",
        default=None,
        help="go on from the journal that an interrupted run left in DIR",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the plugin proper if an engine is named. Raises UsageError for options that make no sense."""
    options = GradeOptions.of(config)
    if options is not None:
        importlib.import_module("refgrad.pytest_plugin.session").install(config, options)


@pytest.fixture(name="check_gradients")
def _check_gradients() -> Callable[..., GradientReport]:
    """``refgrad.check_gradients``, for tests of a project's own functions."""
    function: Callable[..., GradientReport] = importlib.import_module("refgrad").check_gradients
    return function
