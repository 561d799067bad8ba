"""Exercises for results that are right at first and may be wrong later, or in one run of many."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from refgrad.grading.measurements.exercises.exercise import Exercise, leaf, less, note, polynomial, slope
from refgrad.native.library import Library

VALUE: Final = "the value, less x * x + x"
SLOPE: Final = "the gradient, less 2 * x + 1"
CALL: Final = "what a call adds"


def _compared(number: str) -> list[str]:
    return [
        f"seen_value, seen_slope = slope({number})",
        note(VALUE, less("seen_value", f"({number} * {number} + {number})")),
        note(SLOPE, less("seen_slope", f"(2 * {number} + 1)")),
    ]


def _graphs(library: Library) -> list[str]:
    lines = _compared("k")
    return [*slope(library).splitlines(), "", "for k in range(1, 1001):", *(f"    {line}" for line in lines)]


def _again(library: Library) -> list[str]:
    lines = [line for number in ("3", "5", "7") for line in _compared(number)]
    lines = ["if k % 50 == 0:", "    gc.collect()", *lines]
    return [*slope(library).splitlines(), "", "for k in range(300):", *(f"    {line}" for line in lines)]


def _accumulations(library: Library) -> list[str]:
    return [
        f"x = {leaf(library, '3.0')}",
        "for k in range(1, 501):",
        f"    y = {polynomial(library)}",
        f"    {library.backward('y')}",
        f"    {note('the gradient after n graphs, less 7 n', less(library.gradient('x'), '7 * k'))}",
    ]


def _calls(library: Library) -> list[str]:
    return [
        f"x, before = {leaf(library, '3.0')}, 0.0",
        f"y = {polynomial(library)}",
        "for _ in range(500):",
        f"    {library.backward('y', retain_graph=True)}",
        f"    total = number({library.gradient('x')})",
        f"    {note(CALL, less('total', 'before'))}",
        "    before = total or 0.0",
    ]


def _pulls(library: Library) -> list[str]:
    return [
        f"x = {leaf(library, '3.0')}",
        f"y, pullback = {library.vjp('lambda x: ' + polynomial(library), '[x]')}",
        "for _ in range(500):",
        f"    (gradient,) = pullback({library.one})",
        f"    {note(CALL, library.value('gradient'))}",
    ]


def _resets(library: Library) -> list[str]:
    return [
        f"x = {leaf(library, '3.0')}",
        "for k in range(500):",
        f"    {library.zero_grad('x')}",
        f"    y = {polynomial(library)}",
        f"    {library.backward('y')}",
        f"    {note('the gradient after every reset', library.gradient('x'))}",
    ]


def _alive(library: Library) -> list[str]:
    lines = [
        f"leaves = [{leaf(library, 'float(k)')} for k in range(1, 301)]",
        f"outputs = [{polynomial(library)} for x in leaves]",
        "order = [*range(299, 149, -1), *range(150)]",
        "for k in order:",
        f"    {library.backward('outputs[k]')}",
        "for k in order:",
    ]
    return [*lines, f"    {note(SLOPE, less(library.gradient('leaves[k]'), '2 * (k + 1) + 1'))}"]


def _alive_pullbacks(library: Library) -> list[str]:
    return [
        f"leaves = [{leaf(library, 'float(k)')} for k in range(1, 31)]",
        f"pairs = [{library.vjp('lambda x: ' + polynomial(library), '[x]')} for x in leaves]",
        "for k in [*range(29, 14, -1), *range(15)]:",
        f"    (gradient,) = pairs[k][1]({library.one})",
        f"    {note(SLOPE, less(library.value('gradient'), '2 * (k + 1) + 1'))}",
    ]


DELAYED: Final[Mapping[str, Exercise]] = MappingProxyType({
    "again": Exercise(
        "three programs in turn, 300 times, with the garbage collector now and then",
        {VALUE: 0.0, SLOPE: 0.0},
        _again,
        _again,
    ),
    "graphs": Exercise("1,000 graphs in one process", {VALUE: 0.0, SLOPE: 0.0}, _graphs, _graphs),
    "accumulations": Exercise(
        "500 graphs that add to one leaf",
        {"the gradient after n graphs, less 7 n": 0.0},
        _accumulations,
        features=("accumulate",),
    ),
    "calls": Exercise(
        "500 backward calls on one kept graph",
        {CALL: 7.0},
        _calls,
        _pulls,
        features=("retain_graph", "accumulate"),
    ),
    "resets": Exercise(
        "500 resets of one leaf", {"the gradient after every reset": 7.0}, _resets, features=("zero_grad",)
    ),
    "alive": Exercise(
        "many graphs, differentiated in another order than they were built", {SLOPE: 0.0}, _alive, _alive_pullbacks
    ),
})
"""Exercises by the name that rows use."""
