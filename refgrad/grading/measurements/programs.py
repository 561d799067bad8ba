"""Programs of measurements, the rows of ``programs.toml``, and what a measurement returns.

The text of a program has fields such as ``{multiply:x; y}``: the name of an operator, of a call in :data:`CALLS`, of a
template of the adapter, or of a part of a program, then its arguments. Operators and calls take expressions; templates
and parts take named ones, such as ``{detach:x=loss}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from textwrap import indent
from types import MappingProxyType
from typing import Any, Final, Self

from refgrad.documents import parsed_toml
from refgrad.facts import Fact
from refgrad.grading.judging.verdict import Outcome
from refgrad.grading.measurements.growth import Growth
from refgrad.grading.settings import Settings
from refgrad.native.library import Library
from refgrad.native.statements import Statement
from refgrad.operators import operator_table
from refgrad.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of a measurement, the program of the engine's own library that shows it, and how much was tried.

    ``message`` does not depend on the speed or load of the machine. The measured ``growth`` and ``held`` (bytes held by
    number of iterations) do, and are left out of reports. ``fact`` is the message as data, if the program shows it. One
    of the ``operators`` may be the cause of a failure.
    """

    outcome: Outcome
    message: str = ""
    program: str | tuple[Statement, ...] = ""
    scenario: Scenario | None = None
    examples: int = 1
    growth: Growth | None = None
    held: Mapping[int, int] = field(default_factory=dict)
    fact: Fact | None = None
    operators: tuple[str, ...] = ()


def ones(library: Library, size: str, *, requires_grad: bool = True) -> str:
    """Return the expression of a leaf of ``size`` ones, or of the number one if the engine has scalars only."""
    array, scalar = ("np.array(1.0)", "1.0") if library.engine.adapter.scalars_only else (f"np.ones({size})", "None")
    return library.leaf(array, scalar, requires_grad=requires_grad)


CALLS: Final[Mapping[str, Callable[..., str]]] = MappingProxyType({
    "leaf": lambda library, number: library.leaf(f"np.array({number})", number),
    "constant": lambda library, number: library.leaf(f"np.array({number})", number, requires_grad=False),
    "ones": ones,
    "constant_ones": lambda library, size: ones(library, size, requires_grad=False),
    "retaining_backward": lambda library, *arguments: library.backward(*arguments, retain_graph=True),
    "added_in_place": lambda library, x, y: library.template("in_place.add", x=x, y=y),
    "one": lambda library: library.one,
    "built": lambda lib: "loss = function(x)" if lib.tape else f"loss, pullback = {lib.vjp('function', '[x]')}",
    "polynomial": lambda library, x: library.apply("add", library.apply("multiply", x, x), x),
})
"""Calls by name, besides the methods of a library. ``built`` applies ``function`` to ``x``, and records the graph.

The polynomial ``x * x + x`` has the derivative ``2 * x + 1``."""


def unsupported(lacking: str) -> Reading:
    """Return the result for an engine that lacks something."""
    return Reading("unsupported", f"the engine has no {lacking}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredProgram:
    """A program for tape engines and, if it makes sense, one for functional engines.

    An engine must offer the ``operators``, the ``features`` and the ``fields`` of adapters.
    """

    what: str = ""
    tape: str | None = None
    functional: str | None = None
    operators: tuple[str, ...] = ("add", "multiply")
    features: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    def lines(self, library: Library, **names: str) -> list[str]:
        """Return the lines of the program for an engine, with these expressions in place of further fields."""
        text = self.tape if library.tape else self.functional
        assert text is not None
        return filled(text, library, **names)

    @classmethod
    def rows(cls, table: str) -> Mapping[str, Self]:
        """Return the rows of a table of programs by name, with tuples for lists and both kinds for ``either``."""
        return MappingProxyType({
            name: cls(**dict(chain.from_iterable(map(_members, row.items())))) for name, row in PROGRAMS[table].items()
        })

    def measured(self, library: Library, parameters: Mapping[str, Any], settings: Settings) -> Reading:
        """Run the program on an engine that has what it needs, and return the result."""
        raise NotImplementedError

    def script(self, library: Library, parameters: Mapping[str, Any]) -> str:
        """Return the program in a form that runs without refgrad."""
        raise NotImplementedError

    def lacking(self, library: Library) -> str:
        """Return what an engine lacks, as a report names it, or an empty string."""
        if library.tape is None and self.functional is None:
            return "tape"
        fields = (name for name in self.fields if not getattr(library.engine.adapter, name, None))
        return library.lacks(self.operators, self.features) or next(fields, "")


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a program for an engine, which is formatted with its arguments."""

    library: Library
    name: str

    def __format__(self, arguments: str) -> str:
        operands = arguments.split("; ") if arguments else []
        if call := CALLS.get(self.name) or getattr(Library, self.name, None):
            return str(call(self.library, *operands))
        if self.name in operator_table():
            return self.library.apply(self.name, *operands)
        names = dict(each.split("=", 1) for each in operands)
        if self.name in PARTS:
            return "\n".join(PARTS[self.name].lines(self.library, **names))
        return self.library.template(self.name, **names)


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a program for an engine, and further names with their texts."""

    library: Library
    names: Mapping[str, str]

    def __getitem__(self, name: str) -> str | _Field:
        return self.names[name] if name in self.names else _Field(self.library, name)


def filled(text: str, library: Library, **names: str) -> list[str]:
    """Return the lines of a program for an engine. A part of several lines is indented as its field is."""
    lines: list[str] = []
    for line in text.removesuffix("\n").split("\n") if text else ():
        code = line.lstrip()
        lines += indent(code.format_map(_Fields(library, names)), line.removesuffix(code)).split("\n")
    return lines


PROGRAMS: Final = parsed_toml(Path(__file__).with_name("programs.toml"))
"""Tables of programs."""


def _members(member: tuple[str, Any]) -> list[tuple[str, Any]]:
    name, value = member
    if name == "either":
        return [("tape", value), ("functional", value)]
    return [(name, tuple(value) if isinstance(value, list) else value)]


PARTS: Final = MeasuredProgram.rows("parts")
"""Parts of other programs by name."""
