"""The language C++."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refgrad.native.languages.language import Language, indented, literals
from refgrad.native.statements import Call, Function


@dataclass(frozen=True, slots=True)
class Cpp(Language):
    """C++, whose runner is the Python runner with templates that g++ compiles."""

    name = "cpp"
    runner = ("{python}", "-u", "{runners}/cpp_runner.py")
    suffix = ".cpp"
    binding = "auto {name} = {value};"
    showing = "std::cout << {shown} << std::endl;  // {what}"
    handler = (("try {",), ("} catch (const std::exception& error) { std::cout << error.what() << std::endl; }",))
    words = literals("nullptr", "true", "false", "NAN", "INFINITY", "-INFINITY")

    def assigned(self, call: Call) -> Iterator[str]:
        """Yield the lines of a call that is assigned to its targets."""
        if call.targets and not call.unpack:
            yield f"Tensor {call.targets[0]} = {self.called(call)};"
        elif call.unpack and "function" in call.fields:  # a pair
            yield f"auto [{', '.join(call.targets)}] = {self.called(call)};"
        else:
            yield from Language.assigned(self, call)

    def defined(self, function: Function) -> Iterator[str]:
        """Yield the lines of a function."""
        yield f"auto {function.name} = [&](const std::vector<Tensor>& primals) -> Tensor {{"
        yield from (f"  Tensor {name} = primals[{i}];" for i, name in enumerate(function.parameters))
        yield from indented((line for each in function.body for line in self.lines(each)), "  ")
        yield from (f"  return {function.result};", "};")

    def listed(self, items: Sequence[str]) -> str:
        """Return a list of expressions."""
        return f"{{{', '.join(items)}}}"

    def whole(self, setup: str, body: str) -> str:
        """Return a complete program: the adapter's setup, then the main function."""
        lines = ["std::cout.precision(17);", *body.strip().splitlines()]
        return "\n".join([setup.strip(), "", "int main() {", *(f"  {line}".rstrip() for line in lines), "}"]) + "\n"
