"""Coverage of an engine: the rows of the table that it has, and its own operators that no row reaches."""

from __future__ import annotations

import sys
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np

from refgrad.generation import GenerationError, operator_scenario
from refgrad.native.adapter import Inventory, engine_version, find_adapter, inventories_of
from refgrad.native.engine import Engine, start
from refgrad.operators import Operator, operator_table
from refgrad.report import CHARACTERS
from refgrad.report.pages import markdown_templates
from refgrad.scenario import Apply, Leaf, Scenario

SCHEMA: Final = "refgrad/coverage/1"

TRIALS: Final = 8
"""Number of trials of a row for each of its spellings. What a row reaches depends on shapes and attributes.

Three times as many reach one more of PyTorch's 261 operators with a derivative. Half as many reach three fewer.
"""

Document = Mapping[str, Any]
RowTrial = tuple[Callable[..., Any], tuple[Any, ...]]
"""One application of a row: a function of the tensors with respect to which it is differentiated, and these."""


def coverage(name: str, python: str | None = None) -> Document:
    """Return the coverage of an engine, as JSON. It has no inventories if the engine is in another interpreter.

    Raises AdapterError where there is no such engine or its inventory is malformed, and EngineStartError where it
    cannot be started.
    """
    adapter = find_adapter(name)
    engine = start(adapter, python)
    asked = python is None
    return {
        "schema": SCHEMA,
        "engine": adapter.name,
        "version": engine_version(adapter, python or sys.executable),
        "families": _families(engine),
        "inventories": [_compared(inventory, engine) for inventory in inventories_of(adapter)] if asked else [],
        **({} if asked or adapter.inventory is None else {"not_asked": adapter.inventory}),
    }


def _families(engine: Engine) -> dict[str, dict[str, list[str]]]:
    families: dict[str, dict[str, list[str]]] = defaultdict(lambda: {"has": [], "lacks": []})
    for operator in operator_table().values():
        families[operator.family]["has" if engine.offers(operator) else "lacks"].append(operator.name)
    return dict(families)


def _compared(inventory: Inventory, engine: Engine) -> dict[str, Any]:
    """Run the rows of an engine, and return which entries of its inventory they reach."""
    reached: dict[str, list[str]] = defaultdict(list)
    unseen, refused = [], []
    counting = inventory.entries.union(*inventory.undecided.values())
    known = counting.union(*inventory.apart.values())
    for operator in filter(engine.offers, operator_table().values()):
        entries = _reached(inventory, engine, operator)
        for entry in counting & (entries or set()):
            reached[entry].append(operator.name)
        if entries is None:
            refused.append(operator.name)
        elif not entries & known:
            unseen.append(operator.name)
    lacking = inventory.entries - reached.keys()
    others = _synonyms(inventory.synonyms, reached.keys(), lacking)
    return {
        "title": inventory.title,
        "source": inventory.source,
        "reached": {entry: reached[entry] for entry in sorted(reached)},
        "other_names": others,
        "lacking": sorted(lacking - others.keys()),
        "undecided": {why: sorted(names - reached.keys()) for why, names in inventory.undecided.items()},
        "apart": {why: sorted(names) for why, names in inventory.apart.items()},
        "rows_that_reach_none": unseen,
        "rows_that_were_refused": refused,
    }


def _synonyms(groups: Iterable[frozenset[str]], reached: AbstractSet[str], lacking: frozenset[str]) -> dict[str, str]:
    """Return, for names that no row reaches, the other name under which the same operator is counted."""
    others: dict[str, str] = {}
    for group in groups:
        shortest = min(group & reached or group, key=lambda name: (len(name), name))
        others |= {name: shortest for name in group & lacking if name != shortest}
    return dict(sorted(others.items()))


def _reached(inventory: Inventory, engine: Engine, operator: Operator) -> set[str] | None:
    """Return the entries that a row reaches in a few trials, or None where the engine raised in all of them."""
    entries: set[str] | None = None
    for function, primals in _trials(engine, operator):
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                entries = (entries or set()).union(inventory.reached(function, primals))
        except Exception:  # noqa: BLE001, S112 (an engine need not have every shape and attribute)
            continue
    return entries


def _trials(engine: Engine, operator: Operator) -> Iterator[RowTrial]:
    for seed in range(TRIALS * len(engine.spellings[operator.name])):
        try:
            scenario = operator_scenario(seed, operator.name)
        except GenerationError:
            return
        step = next(step for step in scenario.steps if isinstance(step, Apply) and step.operator == operator.name)
        leaves = {leaf.name: leaf for leaf in scenario.leaves}
        yield _trial(engine, scenario, step, [leaves[name] for name in step.arguments])


def _trial(engine: Engine, scenario: Scenario, step: Apply, leaves: Sequence[Leaf]) -> RowTrial:
    """Return the application of one step to leaves, as a function of the leaves that require grad."""
    tensors = {leaf.name: engine.make(leaf.value, requires_grad=leaf.requires_grad) for leaf in leaves}
    moving = tuple(dict.fromkeys(leaf.name for leaf in leaves if leaf.requires_grad))

    def function(*primals: Any) -> Any:
        operands = {**tensors, **dict(zip(moving, primals, strict=True))}
        return engine.apply(step, [operands[leaf.name] for leaf in leaves], scenario)

    return function, tuple(tensors[name] for name in moving)


def coverage_text(document: Mapping[str, Any]) -> str:
    """Return the rows that an engine has and lacks, and its own operators that no row reaches."""
    templates = markdown_templates()
    templates.filters["wrapped"] = _wrapped
    return templates.get_template("coverage.txt.jinja").render(document).removesuffix("\n")


def _wrapped(words: Sequence[str], head: str, indent: int) -> str:
    """Return words in lines, the first after a head, and the others after an indent."""
    lines = textwrap.wrap(
        " ".join(words), CHARACTERS["coverage_line"], initial_indent=head, subsequent_indent=" " * indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join(lines)
