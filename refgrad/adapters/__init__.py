"""Python code about engines that engine files cannot hold: inventories of their own differentiable operators.

No library lists its differentiable functions, so each public function is called with combinations of a few kinds of
arguments until it has returned a differentiable result a few times. Functions with the same results for the same
arguments are one under several names.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, Final

from refgrad.native.adapter import Inventory

Function = Callable[..., Any]

Answer = Callable[[Sequence[Any]], tuple[object, bool]]
"""Function that calls another one, and returns the description of a differentiable result, and whether it is random."""

ANSWERS: Final = 3
"""Number of differentiable results of a function that are compared with those of others."""

RANDOM: Final = "random (the same call gave something else under another seed)"
NOTHING_REAL: Final = "no simple call gave anything real that is differentiable"
NOT_CALLED: Final = "no simple call was accepted"


@dataclass(frozen=True, slots=True)
class FunctionTrial:
    """Outcome of all calls of a function. ``results`` holds arguments and descriptions of differentiable results."""

    accepted: bool = False
    random: bool = False
    results: tuple[object, ...] = ()


def grouped(reasons: Mapping[str, str | None]) -> Mapping[str, frozenset[str]]:
    """Return names by the reason why they do not count; names without one are left out."""
    groups = defaultdict[str, set[str]](set)
    for name, reason in reasons.items():
        if reason is not None:
            groups[reason].add(name)
    return {reason: frozenset(names) for reason, names in groups.items()}


def inventory_of(trials: Mapping[str, FunctionTrial], **fields: Any) -> Inventory:
    """Return the inventory of functions that were tried, with further fields."""
    synonyms, unshown = defaultdict[object, set[str]](set), defaultdict[str, set[str]](set)
    for name, trial in trials.items():
        if not trial.random and trial.results:
            synonyms[trial.results].add(name)
        elif not trial.random:
            unshown[NOTHING_REAL if trial.accepted else NOT_CALLED].add(name)
    return Inventory(
        entries=frozenset[str]().union(*synonyms.values()),
        undecided={reason: frozenset(unshown[reason]) for reason in (NOTHING_REAL, NOT_CALLED)},
        synonyms=tuple(frozenset(names) for names in synonyms.values() if len(names) > 1),
        **fields,
    )


def required(signature: inspect.Signature) -> int:
    """Return the number of arguments that a function needs; ``*args`` counts as one."""
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in signature.parameters.values() if p.default is p.empty and p.kind in by_position]
    return len(needed) + sum(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())


def try_out(answer: Answer, choices: Sequence[Any], count: int, most: int) -> FunctionTrial:
    """Call a function with up to ``most`` combinations of ``count`` of the choices, and return the results.

    A call that raises an exception is left out. Calls end once a few have returned a differentiable result.
    """
    accepted, random = False, False
    results: list[object] = []
    for indices in islice(product(range(len(choices)), repeat=count), most):
        try:
            result, varies = answer([choices[index] for index in indices])
        except Exception:  # noqa: BLE001, S112 (the function does not accept these arguments)
            continue
        accepted, random = True, random or varies
        if result is not None:
            results.append((indices, result))
        if len(results) == ANSWERS:
            break
    return FunctionTrial(accepted, random, tuple(results))
