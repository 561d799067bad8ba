"""The base class of languages, which print statements, literals, functions and regions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from string import Formatter
from textwrap import indent

from refgrad.native.statements import Argument, Call, Expression, Lambda, Name, Names, Statement, Value
from refgrad.scenario import Constant

ATOM_BEFORE = re.compile(r"(^|[(\[,=:]\s*)$")
ATOM_BEHIND = re.compile(r"^\s*($|[)\],:])")


@dataclass(frozen=True, slots=True)
class Language(ABC):
    """Prints statements. With ``dtypes``, programs print the dtypes of results too, if the language supports it."""

    dtypes: bool = False

    @abstractmethod
    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement. The beginning and the end of a region are not printed by this method."""

    @abstractmethod
    def literal(self, value: object) -> str:
        """Return a Python value as a literal of the language."""

    @abstractmethod
    def array(self, constant: Constant) -> str:
        """Return code for an array, exact to the last bit."""

    @abstractmethod
    def function(self, parameters: str, body: str) -> str:
        """Return an anonymous function."""

    def region(self, region: Call, inner: Iterable[str], *, by_error: bool) -> Iterator[str]:  # noqa: ARG002
        """Yield the lines of a region. If an exception ends it, ``by_error``, the lines catch the exception.

        Raises TypeError in a language whose runner has no regions.
        """
        raise TypeError(f"the runner of {type(self).__name__} has no region {self.called(region)}")

    @abstractmethod
    def caught(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines inside a handler that prints their exception, after which the program continues."""

    @abstractmethod
    def whole(self, setup: str, body: str) -> str:
        """Return a complete program, with the adapter's setup or the parts of it that the program needs."""

    def called(self, call: Call) -> str:
        """Return a template with its fields filled in.

        An argument that is not an atom, such as ``-1``, is put in parentheses unless the template delimits it: a
        printed program must mean what was executed.
        """
        parts: list[str] = []
        for before, name, behind in _parts(call.template):
            text = "" if name is None else self.argument(call.fields[name])
            apart = bool(ATOM_BEFORE.search(before)) and bool(ATOM_BEHIND.search(behind))
            loose = name is not None and not apart and not _is_atom(call.fields[name], text)
            parts += [before, f"({text})" if loose else text]
        return "".join(parts)

    def argument(self, argument: Argument) -> str:  # noqa: PLR0911 (one return for each kind of argument)
        """Return the expression for an argument of a template."""
        match argument:
            case Name(name=name):
                return name
            case Names(names=names):
                return f"[{', '.join(names)}]"
            case Value(value=value):
                return self.literal(value)
            case Constant():
                return self.array(argument)
            case Call():
                return self.called(argument)
            case Expression(text=text):
                return text
            case Lambda(parameters=parameters, body=body):
                return self.function(", ".join(parameters), self.called(body))


def _parts(template: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield the literal text before each field, the field, and the literal text after it."""
    parsed = [(before, name) for before, name, _, _ in Formatter().parse(template)]
    for place, (before, name) in enumerate(parsed):
        behind = parsed[place + 1][0] if place + 1 < len(parsed) else ""
        yield before, name, behind


def _is_atom(argument: Argument, text: str) -> bool:
    """Return True if an expression can be an operand of any operator without parentheses."""
    if isinstance(argument, Name | Names | Constant | Expression):
        return True
    return isinstance(argument, Value) and not text.startswith("-")


def indented(lines: Iterable[str]) -> list[str]:
    """Return lines indented by four more spaces."""
    return [indent(line, "    ") for line in lines]
