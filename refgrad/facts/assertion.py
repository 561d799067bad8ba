"""What a program asserts at its end, and what it prints. The name ``got`` holds what the library gave.

Conditions on numbers are met by the right number and not by the engine's: as loose as the error lets them be.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from refgrad.native.languages import Language
from refgrad.native.observation import Raised
from refgrad.native.statements import Call, Name, Show, Statement

TOLERANCES: Final = (1e-3, 1e-6, 1e-9, 1e-12, 1e-13, 1e-14, 1e-15)
"""Relative tolerances. The first that is much smaller than the error is chosen."""

BEYOND: Final = 3.0
"""Least ratio of the error to the tolerance."""

SLACK: Final = 1e-6
"""Distance between a directional derivative and the right one that an assertion accepts."""

DTYPES: Final = ("torch", "jnp", "tf", "np")
"""Names of modules that have dtypes, as engine files import them; NumPy is last, since others import it, too."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a number ``got``, and the right number or range in words."""

    kind: Literal["nan", "same", "between", "inside", "small", "close", "near"]
    right: str
    low: float = 0.0
    high: float = 0.0

    def text(self, language: Language) -> str:
        """Return the condition in a language."""
        return language.conditions[self.kind].format(low=language.literal(self.low), high=language.literal(self.high))


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """What a program shows at its end."""

    statements: Sequence[Statement]
    shows: Sequence[Show]
    modules: Mapping[str, str]
    """Names that the program's imports bind, by module."""
    parents: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Arguments of each application, by the name of its result."""

    def dtype(self, name: str) -> str:
        """Return how the library spells a dtype."""
        return next((f"{module}.{name}" for module in DTYPES if module in self.modules.values()), repr(name))

    @property
    def seed(self) -> tuple[str, Call] | None:
        """The variable of the first seed that is shown, and the call that makes it."""
        [show] = self.shows
        names = [each.name for each in show.call.fields.values() if isinstance(each, Name)]
        calls = {target: each for each in self.statements if isinstance(each, Call) for target in each.targets}
        return (names[0], calls[names[0]]) if names and names[0] in calls else None


@dataclass(frozen=True, slots=True)
class Assertion:
    """An assertion at the end of a program: ``got`` is computed, and ``test`` is a condition on it.

    The template of ``got`` may have the fields ``{tensor}`` for the tensor that the program shows, ``{maybe}`` for the
    tensor or None, ``{unmasked}`` and ``{shown}`` for the expression as the engine file has it, without and with the
    question whether there is a tensor, and ``{dtype}``; and ``{tensor_0}``, ``{tensor_1}`` if it shows several.
    ``modules`` are names that the test uses. Calls ``before`` bind what it uses.
    """

    got: Call
    test: str
    message: str
    modules: Sequence[str] = ()
    before: Sequence[Call] = ()

    @property
    def text(self) -> str:
        """The assertion as Python."""
        return f"assert {self.test}, {'f' if '{' in self.message else ''}{quoted(self.message)}"


def quoted(text: str) -> str:
    """Return a text in double quotes, for what may stand in an f-string."""
    return '"' + text.replace("\\", "\\\\").replace('"', "'") + '"'


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a program as data: the values of each call of ``print``, and the error that ended it, if any."""

    calls: tuple[list[Any], ...]
    error: Raised | None = None

    @property
    def values(self) -> Iterator[Any]:
        """All values that were printed, including those in lists and arrays."""
        return (each for each in _parts(self.calls) if not (isinstance(each, dict) and "array" in each))

    @property
    def numbers(self) -> list[float]:
        """All numbers that were printed."""
        return [float(each["number"]) for each in self.values if isinstance(each, dict) and "number" in each]

    @property
    def dtypes(self) -> set[str]:
        """All dtypes that were printed, and those of printed arrays, without the names of their libraries."""
        parts = list(_parts(self.calls))
        named = {str(each[key]) for each in parts if isinstance(each, dict) for key in ("dtype", "text") if key in each}
        named |= {each for each in parts if isinstance(each, str)}
        return {name.rpartition(".")[2].rstrip("'>") for name in named}

    def has(self, *numbers: str) -> bool:
        """Return True if all these numbers were printed, exact to the last bit."""
        printed = {repr(each) for each in self.numbers}  # NaN equals itself as text
        return all(repr(float(each)) in printed for each in numbers)


def _parts(value: Any) -> Iterator[Any]:
    """Yield arrays, as dictionaries, and the values in them, at any depth of lists."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from _parts(each)
        return
    yield value
    if isinstance(value, dict) and "array" in value:
        yield from _parts(value["array"])


def condition(low: float, high: float, seen: float, budgets: float) -> Condition:
    """Return the condition that an entry has to meet, which was ``seen`` with an error of so many rounding budgets."""
    if math.isnan(low) or math.isnan(high):
        return Condition("nan", "nan")
    if not math.isfinite(low) or not math.isfinite(high):
        return Condition("same" if low == high else "between", _range(low, high), low, high)
    error = abs(max(low - seen, seen - high))
    if high - low > (1e-6 * error if math.isfinite(error) else 1e-12 * max(abs(low), abs(high))):
        return Condition("between", _range(low, high), low, high)
    right = low + 0.0
    if abs(right) < sys.float_info.min:
        known = math.isfinite(error) and error  # then the tolerance is a power of ten of at most a thousandth of it
        return Condition("small", repr(right), high=float(f"1e{math.floor(math.log10(error)) - 3}") if known else 1e-12)
    largest = max(abs(right), abs(seen))  # as in math.isclose
    return Condition("close", repr(right), right, _relative(abs(right / largest - seen / largest), budgets))


def movement(low: float, high: float) -> Condition:
    """Return the condition that a directional derivative has to meet."""
    if low == high:
        return Condition("near", _range(low, high), low, SLACK)
    return Condition("inside", _range(low, high), low - SLACK, high + SLACK)


def _relative(error: float, budgets: float) -> float:
    """Return a tolerance that is smaller than the error and larger than what rounding explains."""
    if not math.isfinite(error):
        return TOLERANCES[1]
    explained = error / budgets if math.isfinite(budgets) and budgets > 0 else 0.0
    for tolerance in TOLERANCES:
        if explained < tolerance and tolerance * BEYOND < error:
            return tolerance
    return float(f"{math.sqrt(error * (explained or error / 100)):.0e}")


def _range(low: float, high: float) -> str:
    return f"{low}" if low == high else f"between {low} and {high}"
