"""What can a toy engine say of its own operators? Some have two names, and some do not count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from refgrad.native.adapter import Inventory
from tests.native.tiny_engine import tiny_adapter

CALLED: list[str] = []
"""The toy's operators that were called since somebody looked."""


def called(name: str, result: Any) -> Any:
    """Note that an operator was called."""
    CALLED.append(name)
    return result


def reached(function: Callable[..., Any], primals: Sequence[Any]) -> list[str]:
    """Return what a call reaches, and something that is no entry."""
    CALLED.clear()
    function(*primals)
    return [*CALLED, "no entry"]


INVENTORY = Inventory(
    title="toy operators",
    source="tests",
    entries=frozenset({"plus", "times", "multiplied_by", "power", "to_the_power", "never"}),
    reached=reached,
    apart={"private": frozenset({"_minus"})},
    undecided={"nobody tried": frozenset({"negated", "unknown"})},
    synonyms=(frozenset({"times", "multiplied_by"}), frozenset({"power", "to_the_power"})),
)


def inventories() -> tuple[Inventory]:
    """Return the toy's inventory."""
    return (INVENTORY,)


def wrong_inventories() -> tuple[str]:
    """Return something else."""
    return ("plus",)


def broken_inventories() -> tuple[Inventory]:
    """Fail."""
    raise LookupError("no list of operators")


NAME = "tests.report.coverage_engine"

ADAPTER = tiny_adapter(
    name="toy",
    setup="from tests.native.tiny_tape import Tiny\nfrom tests.report.coverage_engine import called",
    operators={
        "add": "called('plus', {x} + {y})",
        "multiply": "called('times', {x} * {y})",
        "negative": "called('negated', called('_minus', {x} * Tiny(-1.0)))",
        "subtract": "called('_minus', {x} + {y} * Tiny(-1.0))",
        "square": "{x} * {x}",
        "exp": "{x}.no_such_method()",
    },
    inventory=f"{NAME}:inventories",
)

WITHOUT = replace(ADAPTER, inventory=None)
ABSENT = replace(ADAPTER, setup="import no_such_library")
WRONG = replace(ADAPTER, inventory=f"{NAME}:wrong_inventories")
BROKEN = replace(ADAPTER, inventory=f"{NAME}:broken_inventories")
NOWHERE = replace(ADAPTER, inventory=f"{NAME}:no_such_function")
