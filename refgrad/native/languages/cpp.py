"""C++, as programs are printed in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from refgrad.native.languages.language import Language, indented
from refgrad.native.statements import Argument, Call, Function, Names, Show, Statement
from refgrad.scenario import Constant


@dataclass(frozen=True, slots=True)
class Cpp(Language):
    """Prints statements as C++, as far as its runner has them."""

    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement."""
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
        """Yield the lines of a call with what takes its result; the parts of a list are taken one by one."""
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
        """Return the expression that stands in a field."""
        if isinstance(argument, Names):
            return f"{{{', '.join(argument.names)}}}"
        return Language.argument(self, argument)

    def function(self, parameters: str, body: str) -> str:
        """Return a function without a name."""
        return f"[&](auto {parameters}) {{ return {body}; }}"

    def array(self, constant: Constant) -> str:
        """Return the number of an array without axes."""
        return self.literal(constant.to_numpy().item())

    def literal(self, value: object) -> str:
        """Return a value of Python as C++ spells it."""
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
        """Yield lines whose exception is printed and does not end the program."""
        yield "try {"
        yield from indented(lines)
        yield "} catch (const std::exception& error) { std::cout << error.what() << std::endl; }"

    def whole(self, setup: str, body: str) -> str:
        """Return a program whose main function is behind the adapter's setup."""
        lines = ["std::cout.precision(17);", *body.strip().splitlines()]
        return "\n".join([setup.strip(), "", "int main() {", *(f"  {line}".rstrip() for line in lines), "}"]) + "\n"
