"""The language JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from refgrad.native.languages.language import Language, comparisons, literals, output_of
from refgrad.native.statements import Call, LocalFunction

PRINTS_VERSION: Final = """
const path = require("node:path"), fs = require("node:fs");
const described = (folder) => {
  const file = path.join(folder, "package.json");
  return (fs.existsSync(file) && JSON.parse(fs.readFileSync(file)).version) || described(path.dirname(folder));
};
console.log(described(path.dirname(require.resolve(process.argv[1]))));
"""
"""Program that prints the version of an installed package, whose name is its argument."""


@dataclass(frozen=True, slots=True)
class JavaScript(Language):
    """JavaScript, which Node runs."""

    name = "javascript"
    runner = ("node", "{runners}/node_runner.js")
    suffix = ".js"
    new_list = "[]"
    recording = "void {seen}.push(structuredClone({value}))"
    replacing = "({seen}.push(structuredClone({value})), {product})"
    binding = "var {name} = {value};"
    unpacking = "[{}]"
    anonymous = "({parameters}) => {body}"
    function_lines = (("const {name} = ({parameters}) => {{",), ("  return {result};", "}};"))
    deleting = "{name} = undefined;"
    showing = "console.log({shown}); // {what}"
    handler = (("try {",), ("} catch (error) { console.log(String(error)); }",))
    words = literals("null", "true", "false", "NaN", "Infinity", "-Infinity")
    definition = re.compile(r"(?:function|class) (\w+)")
    standalone = ("node", "{folder}/standalone.js")
    conditions = comparisons("Number.isNaN", "Math.abs")
    assertion = (
        "var got = {shown};",
        'require("node:assert")({test}, `{what} is ${{got}}, but it should be {right}`);',
    )
    along = "[{shown}].flat(Infinity).reduce((sum, slope, i) => sum + slope * {direction}[i], 0)"

    def version(self, package: str, python: str) -> str:  # noqa: ARG002 (of other languages)
        """Return the version of the package that ``require`` finds, or ``unknown``."""
        return output_of("node", "-e", PRINTS_VERSION, package)

    def defined(self, function: LocalFunction) -> Iterator[str]:
        """Yield the lines of a function, one line if it only returns a call."""
        match function.body:
            case (Call(targets=(made,)) as call,) if made == function.result:
                yield f"const {function.name} = ({', '.join(function.parameters)}) => {self.called(call)};"
            case _:
                yield from Language.defined(self, function)

    def literal(self, value: object) -> str:
        """Return a Python value as a literal of JavaScript."""
        if isinstance(value, slice):
            parts = (("start", value.start), ("stop", value.stop), ("step", value.step))
            return f"{{{', '.join(f'{name}: {self.literal(part)}' for name, part in parts)}}}"
        if isinstance(value, list | tuple):
            return self.listed(list(map(self.literal, value)))
        return Language.literal(self, value)
