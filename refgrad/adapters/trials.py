"""Trials of a library's public functions, which show whether they are differentiable, as far as simple calls do.

No library lists its differentiable functions, so each function is called with combinations of a few kinds of arguments
until it has returned a differentiable result a few times. Functions with the same results for the same arguments are
one under several names.

"""

from __future__ import annotations

import inspect
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Function = Callable[..., Any]

ANSWERS: Final = 3
"""Number of differentiable results of a function that are compared with those of others."""

RANDOM: Final = "random (the same call gave something else under another seed)"
NOTHING_REAL: Final = "no simple call gave anything real that is differentiable"
NOT_CALLED: Final = "no simple call was accepted"


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of an accepted call: a description to compare, or None if nothing is differentiable."""

    results: object | None
    random: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """The results of all calls of one function: ``results`` holds the arguments and descriptions."""

    accepted: bool
    random: bool
    results: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Trials:
    """The results of the calls of many functions, by name."""

    by_name: Mapping[str, Trial]

    @property
    def entries(self) -> frozenset[str]:
        """The functions that are differentiable and not random."""
        return frozenset(name for name, trial in self.by_name.items() if trial.results and not trial.random)

    @property
    def random(self) -> frozenset[str]:
        """The random functions."""
        return frozenset(name for name, trial in self.by_name.items() if trial.random)

    @property
    def undecided(self) -> dict[str, frozenset[str]]:
        """The functions that no call showed to be differentiable, by the reason."""
        unshown = {name: trial for name, trial in self.by_name.items() if not trial.results and not trial.random}
        return {
            NOTHING_REAL: frozenset(name for name, trial in unshown.items() if trial.accepted),
            NOT_CALLED: frozenset(name for name, trial in unshown.items() if not trial.accepted),
        }

    @property
    def synonyms(self) -> tuple[frozenset[str], ...]:
        """Groups of functions that are one under several names."""
        groups: dict[object, set[str]] = defaultdict(set)
        for name in self.entries:
            groups[self.by_name[name].results].add(name)
        return tuple(frozenset(names) for names in groups.values() if len(names) > 1)


def combinations(
    count: int, arguments: Callable[[], Sequence[Any]], most: int
) -> Iterator[tuple[tuple[int, ...], list[Any]]]:
    """Yield up to ``most`` choices of ``count`` arguments, each as indices and as values."""
    choices = arguments()
    for indices in itertools.islice(itertools.product(range(len(choices)), repeat=count), most):
        yield indices, [choices[index] for index in indices]


def required(signature: inspect.Signature) -> int:
    """Return the number of arguments that a function needs; ``*args`` counts as one."""
    return sum(_is_required(parameter) for parameter in signature.parameters.values())


def _is_required(parameter: inspect.Parameter) -> bool:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return True
    by_position = (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    return parameter.default is parameter.empty and parameter.kind in by_position


def try_out(calls: Iterator[tuple[tuple[int, ...], list[Any]]], answer: Callable[[Sequence[Any]], Answer]) -> Trial:
    """Make calls until a few have returned a differentiable result; ``answer`` raises if a call is not accepted."""
    accepted, random = False, False
    descriptions: list[object] = []
    for indices, arguments in calls:
        try:
            result = answer(arguments)
        except Exception:  # noqa: BLE001, S112 (the function does not accept these arguments)
            continue
        accepted, random = True, random or result.random
        if result.results is not None:
            descriptions.append((indices, result.results))
        if len(descriptions) == ANSWERS:
            break
    return Trial(accepted, random, tuple(descriptions))
