"""Names and docstrings use words of the field in place of words that only this project would understand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository.sources import PACKAGE, name_of, nodes, python_files, syntax_tree

WORDS = {
    "told": "reported", "tell": "report", "tells": "reports", "said": "described", "say": "describe", "says": "message",
    "due": "expected", "wanted": "expected", "found": "result", "made": "created", "given": "inputs",
    "shown": "printed", "place": "index, position", "places": "indices, positions",
    "draft": "builder", "alone": "isolated, standalone", "corner": "boundary case", "corners": "boundary cases",
    "behind": "after", "beside": "next to", "look": "read", "looks": "reads", "walk": "backward pass, traversal",
    "walks": "backward passes, traversals", "odd": "invalid", "shaken": "perturbed", "remark": "comment",
    "remarks": "comments", "refusal": "unsupported", "refusals": "unsupported", "excuse": "explained by",
    "excuses": "explained by", "owns": "reports", "uncoupled": "inconsistent", "unsent": "unexpected",
    "belied": "contradicted", "felt": "depends on", "bend": "kink", "bends": "kinks", "bent": "nonlinear",
    "lean": "default", "opinion": "statement", "chance": "random state", "finest": "highest precision",
    "nearness": "tolerance", "narration": "messages", "late": "long-running",
    "disturbed": "process_control",
}  # fmt: skip
"""Words that names must not contain, with the words to use."""

FIELD = frozenset({"align_corners", "chance_to_miss", "in_place", "last_place", "not_found", "refusals"})
"""Parts of names in which the field uses a word of the list, and ``refusals``, which engine files have as a key."""

SPOKEN = re.compile(
    r"\b(?:told|tells?|belied|shaken|unsent|uncoupled|bench|nearness|excuses?|excused)\b", re.IGNORECASE
)
"""Words that have no other sense in a docstring."""


def names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of functions, classes, arguments, attributes and variables that a module defines."""
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def words_of(name: str) -> list[str]:
    """Return the words that a name consists of, in snake case or in camel case, without those of the field."""
    snake = "_".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)).lower()
    for phrase in FIELD:
        snake = re.sub(rf"(?<![a-z]){phrase}(?![a-z])", "", snake)
    return snake.split("_")


def private_names(path: Path) -> set[str]:
    """Return the names of a module, its own included, that contain a word of the list."""
    return {name for name in [path.stem, *names(syntax_tree(path))] if not WORDS.keys().isdisjoint(words_of(name))}


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield all strings that are statements: docstrings, also those of constants and attributes."""
    for node in nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def test_names_have_words_of_the_field() -> None:
    found = {name_of(path): private_names(path) for path in python_files(PACKAGE)}
    assert {name: private for name, private in found.items() if private} == {}


def test_docstrings_have_words_of_the_field() -> None:
    assert {
        f"{name_of(path)}: {match[0]}"
        for path in python_files(PACKAGE)
        for text in docstrings(syntax_tree(path))
        for match in SPOKEN.finditer(text)
    } == set()


@pytest.mark.parametrize(
    ("source", "private"),
    [
        ("def told(x): ...", ["told"]),
        ("class DraftOfOne: ...", ["DraftOfOne"]),
        ("def f(given, *, by_name): ...", ["given"]),
        ("self.places = 1", ["places"]),
        ("found = 1", ["found"]),
        ("found.index(1)", []),
        ("def foundation(in_place, MADE_UP): ...", ["MADE_UP"]),
    ],
)
def test_private_words_are_recognized(source: str, private: list[str]) -> None:
    assert [name for name in names(ast.parse(source)) if not WORDS.keys().isdisjoint(words_of(name))] == private
