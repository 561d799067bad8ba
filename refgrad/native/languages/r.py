"""R as a language in which programs are printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from refgrad.native.languages.language import Language, indented
from refgrad.native.statements import Argument, Call, Function, Names, Show, Statement
from refgrad.scenario import Constant

WORDS: Final[Mapping[str, str]] = MappingProxyType({
    "None": "NULL",
    "True": "TRUE",
    "False": "FALSE",
    "nan": "NaN",
    "inf": "Inf",
    "-inf": "-Inf",
})


@dataclass(frozen=True, slots=True)
class R(Language):
    """Prints the statements that the runner of R supports."""

    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement. Raises TypeError where the runner does not support it."""
        match statement:
            case Call():
                yield from self.assigned(statement)
            case Show():
                yield f"cat(format({self.called(statement.call)}, digits = 17), fill = TRUE)  # {statement.what}"
            case Function():
                yield f"{statement.name} <- function(primals) {{"
                yield from (f"  {name} <- primals[[{i}]]" for i, name in enumerate(statement.parameters, 1))
                for each in statement.body:
                    yield from (f"  {line}" for line in self.lines(each))
                yield from (f"  {statement.result}", "}")
            case _:
                raise TypeError(f"{type(statement).__name__} is no statement of the runner of R")

    def assigned(self, call: Call) -> Iterator[str]:
        """Yield the lines of a call that is assigned to its targets, one by one if they are parts of a list."""
        if not call.targets:
            yield self.called(call)
        elif not call.unpack:
            yield f"{call.targets[0]} <- {self.called(call)}"
        else:
            whole = f"{'_and_'.join(call.targets)}_found"
            yield f"{whole} <- {self.called(call)}"
            yield from (f"{name} <- {whole}[[{place}]]" for place, name in enumerate(call.targets, 1))

    def argument(self, argument: Argument) -> str:
        """Return the expression for an argument of a template."""
        if isinstance(argument, Names):
            return f"list({', '.join(argument.names)})"
        return Language.argument(self, argument)

    def function(self, parameters: str, body: str) -> str:
        """Return an anonymous function."""
        return f"function({parameters}) {body}"

    def array(self, constant: Constant) -> str:
        """Return the only entry of an array as a literal."""
        return self.literal(constant.to_numpy().item())

    def literal(self, value: object) -> str:
        """Return a Python value as a literal of R, in which whole numbers are doubles too."""
        return WORDS.get(repr(value), repr(value))

    def caught(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines inside a handler that prints their exception, after which the program continues."""
        yield "tryCatch({"
        yield from indented(lines)
        yield "}, error = function(error) cat(conditionMessage(error), fill = TRUE))"

    def whole(self, setup: str, body: str) -> str:
        """Return a complete program: the adapter's setup, then the body."""
        return f"{setup.strip()}\n\n{body.strip()}\n"
