"""The language Java."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from refgrad.native.languages.language import Language, comparisons, literals
from refgrad.native.statements import Call, LocalFunction, Name, Names

HEAD: Final = re.compile(r"(?:(?://|import ).*\n?|\s*\n)*")
"""Comments and imports at the beginning of a compilation unit."""


@dataclass(frozen=True, slots=True)
class Java(Language):
    """Java, whose templates are compiled in memory."""

    name = "java"
    runner = (
        "java",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "{runners}/java_runner.java",
    )  # starts in half the time
    suffix = ".java"
    pull = "{pullback}.of({seed})"
    element = ".get({})"
    binding = "var {name} = {value};"
    showing = "System.out.println({shown});  // {what}"
    handler = (("try {",), ("} catch (Throwable error) {", "    System.out.println(error);", "}"))
    words = literals("null", "true", "false", "Double.NaN", "Double.POSITIVE_INFINITY", "Double.NEGATIVE_INFINITY")
    standalone = ("{own}", "{folder}/standalone.py", "java")
    conditions = comparisons("Double.isNaN", "Math.abs")
    assertion = (
        "double got = {shown};",
        "System.out.println(got);",
        "if (!({test})) {{",
        '    throw new AssertionError("{what} is " + got + ", but it should be {right}");',
        "}}",
    )
    list_form = "List.of({})"
    function_lines = (("Program {name} = primals_of_{name} -> {{",), ("    return {result};", "}};"))
    taking = "var {parameter} = primals_of_{name}.get({index});"
    indentation = "    "

    def parts(self, call: Call) -> Iterable[str]:
        """Return the accessor of each part of a result, which is a pair of an output and a pullback, or a list."""
        return (".getKey()", ".getValue()") if "function" in call.fields else Language.parts(self, call)

    def defined(self, function: LocalFunction) -> Iterator[str]:
        """Return the lines of a function. Its variables are renamed, since Java does not let them hide outer ones."""
        bound = [*function.parameters, *(name for each in function.body for name in _bound(each))]
        return Language.defined(self, _renamed(function, {name: f"{name}_" for name in bound}))

    def whole(self, setup: str, body: str) -> str:
        """Return a complete program: the imports of the adapter's setup, a main class, and the classes of the setup."""
        code = self.needed(setup, body).strip()
        head = HEAD.match(code)
        imports = head[0] if head else ""
        lines = ["class Finding {", "    public static void main(String[] arguments) {"]
        lines += [f"        {line}".rstrip() for line in body.strip().splitlines()]
        return "\n".join([imports.strip(), "", *lines, "    }", "}", "", code[len(imports) :].strip()]) + "\n"


def _bound(statement: Any) -> tuple[str, ...]:
    """Return the variables that a call or a function binds."""
    return statement.targets if isinstance(statement, Call) else (statement.name,)


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
        case LocalFunction(parameters=parameters, body=body):
            inner = tuple(_renamed(each, names) for each in body)
            others = tuple(names.get(name, name) for name in parameters)
            return LocalFunction(names.get(part.name, part.name), others, inner, names.get(part.result, part.result))
    return part
