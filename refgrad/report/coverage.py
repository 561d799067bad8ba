"""Which rows of the table does an engine have, and which of the engine's own operators does no row reach?

``python -m refgrad.report.coverage [FILE...]`` prints the page about all installed engines, and about those of which
``refgrad coverage --json`` wrote a file, in an environment of theirs.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from refgrad.harness import (
    AnyAdapter,
    Engine,
    EngineStartError,
    Inventory,
    engine_version,
    find_adapter,
    inventories_of,
    registered_engines,
    start,
)
from refgrad.operators import Operator, operator_table
from refgrad.report.document import ReportError
from refgrad.report.markdown import markdown_templates
from refgrad.scenario import Apply, Leaf
from refgrad.strategies import GenerationError, operator_scenario

SCHEMA: Final = "refgrad/coverage/1"

TRIALS: Final = 8
"""Each row is run so many times: which of an engine's operators it reaches depends on shapes and attributes."""

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Trial:
    """One application of a row: a function of the tensors that it is to be differentiated with."""

    function: Callable[..., Any]
    primals: tuple[Any, ...]


def coverage(name: str) -> Document:
    """Return what is covered of one engine, as JSON.

    Raises AdapterError where there is no such engine or its inventory is malformed, and EngineStartError where it
    cannot be started.
    """
    adapter = find_adapter(name)
    engine = start(adapter)
    return {
        "schema": SCHEMA,
        "engine": adapter.name,
        "version": engine_version(adapter),
        "families": _families(engine),
        "inventories": [_compared(inventory, engine) for inventory in inventories_of(adapter)],
    }


def offers(engine: Engine, operator: Operator) -> bool:
    """Whether an engine has a row of the table."""
    return operator.name in engine.operators and (operator.elementwise or not engine.adapter.scalars_only)


def _families(engine: Engine) -> dict[str, dict[str, list[str]]]:
    families: dict[str, dict[str, list[str]]] = defaultdict(lambda: {"has": [], "lacks": []})
    for operator in operator_table().values():
        families[operator.family]["has" if offers(engine, operator) else "lacks"].append(operator.name)
    return dict(families)


def _compared(inventory: Inventory, engine: Engine) -> dict[str, Any]:
    """Run the rows of an engine, and return what they reach of its inventory."""
    reached: dict[str, list[str]] = defaultdict(list)
    unseen, refused = [], []
    counting = inventory.entries.union(*inventory.undecided.values())
    for operator in operator_table().values():
        if not offers(engine, operator):
            continue
        found = _reached(inventory, engine, operator)
        seen = counting & (found or set())
        for entry in sorted(seen):
            reached[entry].append(operator.name)
        if not seen:
            (refused if found is None else unseen).append(operator.name)
    spelled = {name for group in inventory.synonyms if group & reached.keys() for name in group} - reached.keys()
    return {
        "title": inventory.title,
        "source": inventory.source,
        "reached": {entry: reached[entry] for entry in sorted(reached)},
        "spelled_otherwise": sorted(spelled & inventory.entries),
        "lacking": sorted(inventory.entries - reached.keys() - spelled),
        "undecided": {why: sorted(names - reached.keys()) for why, names in inventory.undecided.items()},
        "apart": {why: sorted(names) for why, names in inventory.apart.items()},
        "rows_that_reach_none": unseen,
        "rows_that_were_refused": refused,
    }


def _reached(inventory: Inventory, engine: Engine, operator: Operator) -> set[str] | None:
    """Return the entries that a row reaches in a few trials, or None where the engine refused all of them."""
    found: set[str] | None = None
    for trial in _trials(engine, operator):
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                found = (found or set()).union(inventory.reached(trial.function, trial.primals))
        except Exception:  # noqa: BLE001, S112 (an engine need not have every shape and attribute)
            continue
    return found


def _trials(engine: Engine, operator: Operator) -> Iterator[Trial]:
    for seed in range(TRIALS):
        try:
            scenario = operator_scenario(seed, operator.name)
        except GenerationError:
            return
        step = next(step for step in scenario.steps if isinstance(step, Apply) and step.operator == operator.name)
        leaves = {leaf.name: leaf for leaf in scenario.leaves}
        yield _trial(engine, step, [leaves[name] for name in step.arguments])


def _trial(engine: Engine, step: Apply, leaves: Sequence[Leaf]) -> Trial:
    """Return the application of one step to leaves, as a function of those that require grad."""
    tensors = {leaf.name: engine.make(leaf.value, requires_grad=leaf.requires_grad) for leaf in leaves}
    moving = tuple(dict.fromkeys(leaf.name for leaf in leaves if leaf.requires_grad))

    def function(*primals: Any) -> Any:
        given = {**tensors, **dict(zip(moving, primals, strict=True))}
        return engine.apply(step, [given[leaf.name] for leaf in leaves])

    return Trial(function, tuple(tensors[name] for name in moving))


def coverage_text(document: Document) -> str:
    """Return what is covered of one engine, for a terminal."""
    return _render("coverage.txt", document=document)


def coverage_page(documents: Sequence[Document]) -> str:
    """Return what is covered of several engines, as Markdown."""
    return _render("coverage.md", documents=documents, total=len(operator_table()))
