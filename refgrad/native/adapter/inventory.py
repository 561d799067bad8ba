"""Inventories: lists of an engine's own differentiable operators, to find those that no row of the table reaches."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from refgrad.native.adapter.kinds import AnyAdapter


class Reached(Protocol):
    """The entries of an inventory that one call reaches."""

    def __call__(self, function: Callable[..., Any], primals: Sequence[Any]) -> Iterable[str]:
        """Call ``function(*primals)``, all of which are to be differentiated, and return the entries that it reaches.

        Names that are no entries do no harm. Whatever the call raises is let through.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """A list of an engine's own differentiable operators, and a way to see which of them a call reaches.

    ``title`` is what the entries are, in the plural, and ``source`` where the list is from. ``entries`` are those that
    count. ``apart`` are those that do not, by the rule that sets them apart. ``undecided`` are those of which the
    inventory cannot say whether they are differentiable, by what it tried: a row that reaches one has shown that it is.
    ``synonyms`` are groups of entries that are one operator under several names.
    """

    title: str
    source: str
    entries: frozenset[str]
    reached: Reached
    apart: Mapping[str, frozenset[str]] = field(default_factory=dict)
    undecided: Mapping[str, frozenset[str]] = field(default_factory=dict)
    synonyms: tuple[frozenset[str], ...] = ()


def inventories_of(adapter: AnyAdapter) -> tuple[Inventory, ...]:
    """Ask an engine for its inventories, which its adapter names as ``module:function``; none if it names none.

    The engine has to be installed. Raises AdapterError where there is no such function, or it gives something else.
    """
    if adapter.inventory is None:
        return ()
    module, _, name = adapter.inventory.partition(":")
    try:
        found = tuple(getattr(importlib.import_module(module), name)())
    except Exception as error:  # a module of someone else's may raise anything
        raise adapter.error(f"inventory {adapter.inventory!r}: {type(error).__name__}: {error}") from error
    for candidate in found:
        if not isinstance(candidate, Inventory):
            kind = type(candidate).__name__
            raise adapter.error(
                f"inventory {adapter.inventory!r}: gives {kind}, not a refgrad.native.adapter.Inventory"
            )
    return found
