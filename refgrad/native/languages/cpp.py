"""C++ as a language in which programs are printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from refgrad.native.languages.language import Language, indented
from refgrad.native.statements import Argument, Call, Function, Names, Show, Statement
from refgrad.scenario import Constant


@dataclass(frozen=True, slots=True)
class Cpp(Language):
    """Prints the statements that the runner of C++ supports."""

    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement. Raises TypeError where the runner does not support it."""
        match statement:
            case Call():
                yield from self.assigned(statement)
            case Show():
                yield f"std::cout << {self.called(statement.call)} << std::endl;  // {statement.what}"
            case Function():
                yield f"auto {statement.name} = [&](const std::vector<Tensor>& primals) -> Tensor {{"
                yield from (f"  Tensor {name} = primals[{i}];" for i, name in enumerate(statement.parameters))
                for each in statement.body:
                    yield from (f"  {line}" for line in self.lines(each))
                yield from (f"  return {statement.result};", "};")
            case _:
                raise TypeError(f"{type(statement).__name__} is no statement of the runner of C++")

    def assigned(self, call: Call) -> Iterator[str]:
        """Yield the lines of a call that is assigned to its targets, one by one if they are parts of a list."""
        if not call.targets:
            yield f"{self.called(call)};"
        elif not call.unpack:
            yield f"Tensor {call.targets[0]} = {self.called(call)};"
        elif "function" in call.fields:
            yield f"auto [{', '.join(call.targets)}] = {self.called(call)};"
        else:
            yield f"auto {'_and_'.join(call.targets)}_found = {self.called(call)};"
            for place, name in enumerate(call.targets):
                yield f"auto {name} = {'_and_'.join(call.targets)}_found[{place}];"

    def argument(self, argument: Argument) -> str:
        """Return the expression for an argument of a template."""
        if isinstance(argument, Names):
            return f"{{{', '.join(argument.names)}}}"
        return Language.argument(self, argument)

    def function(self, parameters: str, body: str) -> str:
        """Return an anonymous function."""
        return f"[&](auto {parameters}) {{ return {body}; }}"

    def array(self, constant: Constant) -> str:
        """Return the only entry of an array as a literal."""
        return self.literal(constant.to_numpy().item())

    def literal(self, value: object) -> str:
        """Return a Python value as a literal of C++."""
        words = {
            "None": "nullptr",
            "True": "true",
            "False": "false",
            "nan": "NAN",
            "inf": "INFINITY",
            "-inf": "-INFINITY",
        }
        return words.get(repr(value), repr(value))

    def caught(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines inside a handler that prints their exception, after which the program continues."""
        yield "try {"
        yield from indented(lines)
        yield "} catch (const std::exception& error) { std::cout << error.what() << std::endl; }"

    def whole(self, setup: str, body: str) -> str:
        """Return a complete program: the adapter's setup, then the main function."""
        lines = ["std::cout.precision(17);", *body.strip().splitlines()]
        return "\n".join([setup.strip(), "", "int main() {", *(f"  {line}".rstrip() for line in lines), "}"]) + "\n"
