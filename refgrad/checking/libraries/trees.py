"""Arguments and results as trees of tuples, lists, dictionaries and dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tree:
    """The leaves of a value, the index of each in it (``['w'][0]``), and a function that builds the value from leaves.

    ``code`` returns Python code for the value from names of the leaves, and ``spell`` code for each of its parts.
    """

    leaves: tuple[Any, ...]
    places: tuple[str, ...]
    build: Callable[[Sequence[Any]], Any]
    code: Callable[[Sequence[str]], str]
    spell: Callable[[Sequence[str]], list[str]]


def tree_of(value: Any, is_leaf: Callable[[Any], bool]) -> Tree:
    """Return the tree of a value. Its leaves are the objects that are no containers, or that ``is_leaf`` accepts."""
    parts = None if is_leaf(value) else _parts(value)
    if parts is None:
        return Tree((value,), ("",), lambda leaves: leaves[0], lambda names: names[0], list)
    names, children, join = parts
    trees = [tree_of(child, is_leaf) for child in children]
    leaves = tuple(leaf for tree in trees for leaf in tree.leaves)
    places = tuple(name + place for name, tree in zip(names, trees, strict=True) for place in tree.places)

    def build(given: Sequence[Any]) -> Any:
        made, start = [], 0
        for tree in trees:
            made.append(tree.build(given[start : start + len(tree.leaves)]))
            start += len(tree.leaves)
        return join(made)

    def spelled(given: Sequence[str]) -> list[str]:
        made, start = [], 0
        for tree in trees:
            made.append(tree.code(given[start : start + len(tree.leaves)]))
            start += len(tree.leaves)
        return made

    return Tree(leaves, places, build, lambda given: _code(value, names, spelled(given)), spelled)


def _parts(value: Any) -> tuple[list[str], list[Any], Callable[[list[Any]], Any]] | None:
    """Return the names and the values of a container's parts, and a function that builds it from other values."""
    if isinstance(value, tuple | list):
        return [f"[{i}]" for i in range(len(value))], list(value), lambda made: _sequence(value, made)
    if isinstance(value, Mapping):
        keys = list(value)
        return [f"[{key!r}]" for key in keys], list(value.values()), lambda made: _mapping(value, keys, made)
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        parts = [getattr(value, name) for name in names]
        return [f".{name}" for name in names], parts, lambda made: _instance(value, names, made)
    return None


def _code(value: Any, names: Sequence[str], parts: Sequence[str]) -> str:
    """Return code for a container from the code of its parts."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(value, parts, strict=True)) + "}"
    if type(value) is list:
        return f"[{', '.join(parts)}]"
    if type(value) is tuple:
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    fields = getattr(value, "_fields", None) or [name.removeprefix(".") for name in names]
    return f"{type(value).__name__}({', '.join(f'{n}={part}' for n, part in zip(fields, parts, strict=True))})"


def _sequence(value: Any, made: list[Any]) -> Any:
    if type(value) in (tuple, list):
        return type(value)(made)
    return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)


def _mapping(value: Any, keys: list[Any], made: list[Any]) -> Any:
    result = copy(value)
    result.update(zip(keys, made, strict=True))
    return result


def _instance(value: Any, names: list[str], made: list[Any]) -> Any:
    result = copy(value)
    for name, part in zip(names, made, strict=True):
        object.__setattr__(result, name, part)
    return result
