"""Trials of a library's public functions: which are differentiable, as far as simple calls can tell.

No library lists them. So each function is called with combinations of a few kinds of arguments until it has given
something differentiable a few times, and functions that answer all calls alike are one under several names.
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
"""So many answers tell functions apart."""

RANDOM: Final = "random (the same call gave something else under another seed)"
NOTHING_REAL: Final = "no simple call gave anything real that is differentiable"
NOT_CALLED: Final = "no simple call was accepted"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call came to that was accepted: a description to compare, or None where nothing is differentiable."""

    shown: object | None
    random: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of all calls of one function: ``shown`` are its arguments and answers."""

    accepted: bool
    random: bool
    shown: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Trials:
    """What came of the calls of many functions, by their names."""

    by_name: Mapping[str, Trial]

    @property
    def entries(self) -> frozenset[str]:
        """The functions that are differentiable and not random."""
        return frozenset(name for name, trial in self.by_name.items() if trial.shown and not trial.random)

    @property
    def random(self) -> frozenset[str]:
        """The random ones."""
        return frozenset(name for name, trial in self.by_name.items() if trial.random)

    @property
    def undecided(self) -> dict[str, frozenset[str]]:
        """Those that calls did not show to be differentiable, by what the calls came to."""
        unshown = {name: trial for name, trial in self.by_name.items() if not trial.shown and not trial.random}
        return {
            NOTHING_REAL: frozenset(name for name, trial in unshown.items() if trial.accepted),
            NOT_CALLED: frozenset(name for name, trial in unshown.items() if not trial.accepted),
        }

    @property
    def synonyms(self) -> tuple[frozenset[str], ...]:
        """Functions that are one under several names."""
        groups: dict[object, set[str]] = defaultdict(set)
        for name in self.entries:
            groups[self.by_name[name].shown].add(name)
        return tuple(frozenset(names) for names in groups.values() if len(names) > 1)


def combinations(
    count: int, arguments: Callable[[], Sequence[Any]], most: int
) -> Iterator[tuple[tuple[int, ...], list[Any]]]:
    """Yield up to ``most`` choices of ``count`` arguments, each with what was chosen."""
    choices = arguments()
    for places in itertools.islice(itertools.product(range(len(choices)), repeat=count), most):
        yield places, [choices[place] for place in places]


def required(signature: inspect.Signature) -> int:
    """Return how many arguments a function needs; one, if it takes as many as there are."""
    return sum(_is_required(parameter) for parameter in signature.parameters.values())


def _is_required(parameter: inspect.Parameter) -> bool:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return True
    by_position = (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    return parameter.default is parameter.empty and parameter.kind in by_position


def try_out(calls: Iterator[tuple[tuple[int, ...], list[Any]]], answer: Callable[[Sequence[Any]], Answer]) -> Trial:
    """Make calls until a few have given something differentiable; ``answer`` raises where a call is not accepted."""
    accepted, random = False, False
    shown: list[object] = []
    for places, given in calls:
        try:
            found = answer(given)
        except Exception:  # noqa: BLE001, S112 (these are no arguments for it)
            continue
        accepted, random = True, random or found.random
        if found.shown is not None:
            shown.append((places, found.shown))
        if len(shown) == ANSWERS:
            break
    return Trial(accepted, random, tuple(shown))
