"""Inventories: lists of an engine's own differentiable operators, to find those that no row of the table reaches."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from refgrad.native.adapter.kinds import AnyAdapter


class Reached(Protocol):
    """A function that returns the entries of an inventory that one call reaches."""

    def __call__(self, function: Callable[..., Any], primals: Sequence[Any]) -> Iterable[str]:
        """Call ``function(*primals)`` and return the entries that it reaches.

        The function is differentiated with respect to all primals. Names in the result that are not entries are
        ignored. Exceptions of the call are propagated.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """A list of an engine's own differentiable operators, and a function that finds those that a call reaches.

    ``title`` says what the entries are, in the plural, and ``source`` where the list comes from. ``entries`` are
    counted. ``apart`` are not counted; they are grouped by the reason. ``undecided`` may or may not be differentiable;
    they are grouped by what the inventory tried. If a row reaches one of them, it is differentiable. ``synonyms`` are
    groups of names of one operator.
    """

    title: str
    source: str
    entries: frozenset[str]
    reached: Reached
    apart: Mapping[str, frozenset[str]] = field(default_factory=dict)
    undecided: Mapping[str, frozenset[str]] = field(default_factory=dict)
    synonyms: tuple[frozenset[str], ...] = ()


def inventories_of(adapter: AnyAdapter) -> tuple[Inventory, ...]:
    """Return the inventories of an engine, from the ``module:function`` that its adapter names, if it names one.

    The engine must be installed. Raises AdapterError where the function does not exist, raises, or returns something
    else.
    """
    if adapter.inventory is None:
        return ()
    module, _, name = adapter.inventory.partition(":")
    try:
        found = tuple(getattr(importlib.import_module(module), name)())
    except Exception as error:  # a user's module may raise anything
        raise adapter.error(f"inventory {adapter.inventory!r}: {type(error).__name__}: {error}") from error
    for candidate in found:
        if not isinstance(candidate, Inventory):
            kind = type(candidate).__name__
            raise adapter.error(
                f"inventory {adapter.inventory!r}: gives {kind}, not a refgrad.native.adapter.Inventory"
            )
    return found
