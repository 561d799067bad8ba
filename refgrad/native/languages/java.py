"""Java as a language in which programs are printed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from refgrad.native.languages.language import Language, indented
from refgrad.native.statements import Argument, Call, Function, Name, Names, Show, Statement
from refgrad.scenario import Constant

HEAD: Final = re.compile(r"(?:(?://|import ).*\n|\s*\n)*")
"""Comments and imports at the beginning of a compilation unit."""

WORDS: Final[Mapping[str, str]] = MappingProxyType({
    "None": "null",
    "True": "true",
    "False": "false",
    "nan": "Double.NaN",
    "inf": "Double.POSITIVE_INFINITY",
    "-inf": "Double.NEGATIVE_INFINITY",
})


@dataclass(frozen=True, slots=True)
class Java(Language):
    """Prints the statements that the runner of Java supports."""

    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement. Raises TypeError where the runner does not support it."""
        match statement:
            case Call():
                yield from self.assigned(statement)
            case Show():
                yield f"System.out.println({self.called(statement.call)});  // {statement.what}"
            case Function():
                yield from self.defined(statement)
            case _:
                raise TypeError(f"{type(statement).__name__} is no statement of the runner of Java")

    def assigned(self, call: Call) -> Iterator[str]:
        """Yield the lines of a call that is assigned to its targets, one by one if they are parts of a pair or list."""
        if not call.targets:
            yield f"{self.called(call)};"
        elif not call.unpack:
            yield f"var {call.targets[0]} = {self.called(call)};"
        else:
            whole = f"{'_and_'.join(call.targets)}_found"
            yield f"var {whole} = {self.called(call)};"
            parts = (
                ("getKey()", "getValue()") if "function" in call.fields else map("get({})".format, itertools.count())
            )
            yield from (f"var {name} = {whole}.{part};" for name, part in zip(call.targets, parts, strict=False))

    def defined(self, function: Function) -> Iterator[str]:
        """Yield the lines of a function. Its variables are renamed, since Java does not let them hide outer ones."""
        bound = [*function.parameters, *(name for each in function.body for name in _bound(each))]
        inner = _renamed(function, {name: f"{name}_" for name in bound})
        given = f"primals_of_{function.name}"
        yield f"Program {function.name} = {given} -> {{"
        yield from indented(f"var {name} = {given}.get({i});" for i, name in enumerate(inner.parameters))
        yield from indented(line for each in inner.body for line in self.lines(each))
        yield from (f"    return {inner.result};", "};")

    def argument(self, argument: Argument) -> str:
        """Return the expression for an argument of a template."""
        if isinstance(argument, Names):
            return f"List.of({', '.join(argument.names)})"
        return Language.argument(self, argument)

    def function(self, parameters: str, body: str) -> str:
        """Return an anonymous function."""
        return f"{parameters} -> {body}"

    def array(self, constant: Constant) -> str:
        """Return the only entry of an array as a literal."""
        return self.literal(constant.to_numpy().item())

    def literal(self, value: object) -> str:
        """Return a Python value as a literal of Java."""
        return WORDS.get(repr(value), repr(value))

    def caught(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines inside a handler that prints their exception, after which the program continues."""
        yield "try {"
        yield from indented(lines)
        yield "} catch (Throwable error) {"
        yield "    System.out.println(error);"
        yield "}"

    def whole(self, setup: str, body: str) -> str:
        """Return a complete program: the imports of the adapter's setup, a main class, and the classes of the setup."""
        head = HEAD.match(setup.strip())
        imports = head[0] if head else ""
        lines = ["class Finding {", "    public static void main(String[] arguments) {"]
        lines += [f"        {line}".rstrip() for line in body.strip().splitlines()]
        return "\n".join([imports.strip(), "", *lines, "    }", "}", "", setup.strip()[len(imports) :].strip()]) + "\n"


def _bound(statement: Statement) -> tuple[str, ...]:
    """Return the variables that a statement binds."""
    return (
        statement.targets
        if isinstance(statement, Call)
        else (statement.name,)
        if isinstance(statement, Function)
        else ()
    )


def _renamed(part: Any, names: Mapping[str, str]) -> Any:
    """Return a part of a program with its variables renamed."""
    match part:
        case Name(name=name):
            return Name(names.get(name, name))
        case Names(names=each):
            return Names(tuple(names.get(name, name) for name in each))
        case Call(fields=fields, targets=targets):
            renamed = {field: _renamed(argument, names) for field, argument in fields.items()}
            return replace(part, fields=renamed, targets=tuple(names.get(name, name) for name in targets))
        case Function(parameters=parameters, body=body):
            inner = tuple(_renamed(each, names) for each in body)
            others = tuple(names.get(name, name) for name in parameters)
            return Function(names.get(part.name, part.name), others, inner, names.get(part.result, part.result))
    return part
