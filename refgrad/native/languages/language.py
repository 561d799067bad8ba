"""What every language of programs can do: print statements, literals, functions and regions."""

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
    """Prints statements; ``dtypes`` has looks show dtypes beside numbers, as far as the language can."""

    dtypes: bool = False

    @abstractmethod
    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement; regions are the business of whoever lays out the program."""

    @abstractmethod
    def literal(self, value: object) -> str:
        """Return a value as the language spells it."""

    @abstractmethod
    def array(self, constant: Constant) -> str:
        """Return code for an array, exact to the last bit."""

    @abstractmethod
    def function(self, parameters: str, body: str) -> str:
        """Return a function without a name."""

    def region(self, region: Call, inner: Iterable[str], *, by_error: bool) -> Iterator[str]:  # noqa: ARG002
        """Yield the lines of a region, and of what catches the exception that ends it.

        Raises TypeError in a language whose runner has none.
        """
        raise TypeError(f"the runner of {type(self).__name__} has no region {self.called(region)}")

    @abstractmethod
    def caught(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines whose exception is printed and does not end the program."""

    @abstractmethod
    def whole(self, setup: str, body: str) -> str:
        """Return a program with what it needs of an adapter's setup."""

    def called(self, call: Call) -> str:
        """Return a template with its fields filled in.

        What is no atom, such as ``-1``, stands in parentheses unless the template sets it apart: a program that is
        printed must mean what was executed.
        """
        parts: list[str] = []
        for before, name, behind in _parts(call.template):
            text = "" if name is None else self.argument(call.fields[name])
            apart = bool(ATOM_BEFORE.search(before)) and bool(ATOM_BEHIND.search(behind))
            loose = name is not None and not apart and not _is_atom(call.fields[name], text)
            parts += [before, f"({text})" if loose else text]
        return "".join(parts)

    def argument(self, argument: Argument) -> str:  # noqa: PLR0911 (one return for each kind of argument)
        """Return the expression that stands in a field."""
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
    """Yield the literal text before each field, the field, and the literal text behind it."""
    parsed = [(before, name) for before, name, _, _ in Formatter().parse(template)]
    for place, (before, name) in enumerate(parsed):
        behind = parsed[place + 1][0] if place + 1 < len(parsed) else ""
        yield before, name, behind


def _is_atom(argument: Argument, text: str) -> bool:
    """Whether an expression can stand beside any operator."""
    if isinstance(argument, Name | Names | Constant | Expression):
        return True
    return isinstance(argument, Value) and not text.startswith("-")


def indented(lines: Iterable[str]) -> list[str]:
    """Return lines of which each stands four places further in."""
    return [indent(line, "    ") for line in lines]
