"""Engines that are broken on purpose for the tests of grading: the reference engine, with something of it replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.engine import Engine
from tests.native.reference import ADAPTER

SETUP = f"{ADAPTER.setup}\nimport numpy as np\n"
CHECKS: Mapping[str, Any] = {check.id: check for check in all_checks()}


def engine(setup: str = "", **changes: Any) -> Engine:
    """Return the reference engine with further setup, other spellings or templates, or ``only`` some operators."""
    operators = {**ADAPTER.operators, **changes.pop("operators", {})}
    only = changes.pop("only", operators)
    operators = {name: text for name, text in operators.items() if name in only}
    changes.setdefault("aliases", {name: texts for name, texts in ADAPTER.aliases.items() if name in only})
    return Engine(replace(ADAPTER, setup=SETUP + setup, operators=operators, **changes))


def bench(setup: str = "", profile: str = "smoke", **changes: Any) -> Bench:
    """Return a bench for an engine that is changed like this."""
    return Bench(engine(setup, **changes), Settings(profile))


def verdict(bench: Bench, check: str) -> Verdict:
    """Grade one check by its id."""
    return bench.grade(CHECKS[check])
