"""The language C++."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from refgrad.native.languages.language import Language, comparisons, literals
from refgrad.native.statements import Call

HEADERS: Final[Mapping[str, str]] = MappingProxyType({
    "functional": "function", "memory": "make_shared", "utility": "pair", "vector": "vector",
})  # fmt: skip
"""The name that programs use of a header. All other headers are kept."""


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
    standalone = ("{own}", "{folder}/standalone.py", "g++")
    conditions = comparisons("std::isnan", "std::abs")
    assertion = (
        "double got = {shown};",
        "std::cout << got << std::endl;",
        "if (!({test})) {{",
        '  std::cerr << "AssertionError: {what} is " << got << ", but it should be {right}" << std::endl;',
        "  return 1;",
        "}}",
    )
    list_form = "{{{}}}"
    function_lines = (
        ("auto {name} = [&](const std::vector<Tensor>& primals) -> Tensor {{",),
        ("  return {result};", "}};"),
    )
    taking = "Tensor {parameter} = primals[{index}];"

    def assigned(self, call: Call) -> Iterator[str]:
        """Yield the lines of a call that is assigned to its targets."""
        if call.targets and not call.unpack:
            yield f"Tensor {call.targets[0]} = {self.called(call)};"
        elif call.unpack and "function" in call.fields:  # a pair
            yield f"auto [{', '.join(call.targets)}] = {self.called(call)};"
        else:
            yield from Language.assigned(self, call)

    def defines(self, part: str) -> str:
        """Return the name that a part of a setup defines, empty if it defines none or several."""
        header = re.match(r"#include <(\w+)>", part)
        return Language.defines(self, part) if header is None else HEADERS.get(header[1], "")

    def whole(self, setup: str, body: str) -> str:
        """Return a complete program: the adapter's setup, then the main function."""
        lines = ["std::cout.precision(17);", *body.strip().splitlines()]
        head = self.needed(setup, body).strip()
        return "\n".join([head, "", "int main() {", *(f"  {line}".rstrip() for line in lines), "}"]) + "\n"
