"""JavaScript as a language in which programs are printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from refgrad.native.languages.language import Language, indented
from refgrad.native.statements import Call, Function, Show, Statement
from refgrad.scenario import Constant

DEFINED = re.compile(r"(function|class) (\w+)")


@dataclass(frozen=True, slots=True)
class JavaScript(Language):
    """Prints the statements that the runner of JavaScript supports."""

    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement. Raises TypeError where the runner does not support it."""
        match statement:
            case Call():
                yield self.assigned(statement)
            case Show():
                yield f"console.log({self.called(statement.call)}); // {statement.what}"
            case Function():
                yield f"const {statement.name} = ({', '.join(statement.parameters)}) => {{"
                for each in statement.body:
                    yield from (f"  {line}" for line in self.lines(each))
                yield from (f"  return {statement.result};", "};")
            case _:
                raise TypeError(f"{type(statement).__name__} is no statement of the runner of JavaScript")

    def assigned(self, call: Call) -> str:
        """Return a call that is assigned to its targets."""
        if not call.targets:
            return f"{self.called(call)};"
        targets = f"[{', '.join(call.targets)}]" if call.unpack else call.targets[0]
        return f"var {targets} = {self.called(call)};"

    def function(self, parameters: str, body: str) -> str:
        """Return an anonymous function."""
        return f"({parameters}) => {body}"

    def array(self, constant: Constant) -> str:
        """Return an array as nested lists of numbers."""
        return self.literal(constant.to_numpy().tolist())

    def literal(self, value: object) -> str:
        """Return a Python value as a literal of JavaScript."""
        if isinstance(value, slice):
            parts = (("start", value.start), ("stop", value.stop), ("step", value.step))
            return f"{{{', '.join(f'{name}: {self.literal(part)}' for name, part in parts)}}}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self.literal, value))}]"
        words = {"None": "null", "True": "true", "False": "false", "nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
        return words.get(repr(value), repr(value))

    def caught(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines inside a handler that prints their exception, after which the program continues."""
        yield "try {"
        yield from indented(lines)
        yield "} catch (error) { console.log(String(error)); }"

    def whole(self, setup: str, body: str) -> str:
        """Return a complete program: the paragraphs of the adapter's setup that it needs, then the body."""
        return f"{_needed_paragraphs(setup, body)}\n\n{body.strip()}\n"


def _needed_paragraphs(setup: str, body: str) -> str:
    """Return a setup without the paragraphs that define an unused function or class."""
    paragraphs = setup.strip().split("\n\n")
    names = [found[2] if (found := DEFINED.match(text)) else "" for text in paragraphs]
    kept = [not name for name in names]
    for _ in paragraphs:
        known = "\n".join([body, *(text for text, keep in zip(paragraphs, kept, strict=True) if keep)])
        kept = [keep or bool(re.search(rf"\b{name}\b", known)) for keep, name in zip(kept, names, strict=True)]
    return "\n\n".join(text for text, keep in zip(paragraphs, kept, strict=True) if keep)
