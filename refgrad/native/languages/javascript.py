"""The language JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from refgrad.native.languages.language import Language, indented, literals, output_of
from refgrad.native.statements import Call, Function

DEFINED: Final = re.compile(r"(function|class) (\w+)")

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
    deleting = "{name} = undefined;"
    showing = "console.log({shown}); // {what}"
    handler = (("try {",), ("} catch (error) { console.log(String(error)); }",))
    words = literals("null", "true", "false", "NaN", "Infinity", "-Infinity")

    def version(self, package: str, python: str) -> str:  # noqa: ARG002 (of other languages)
        """Return the version of the package that ``require`` finds, or ``unknown``."""
        return output_of("node", "-e", PRINTS_VERSION, package)

    def assigned(self, call: Call) -> Iterator[str]:
        """Yield the line of a call that is assigned to its targets."""
        name = self.listed(call.targets) if call.unpack else "".join(call.targets)
        yield self.binding.format(name=name, value=self.called(call)) if name else f"{self.called(call)};"

    def defined(self, function: Function) -> Iterator[str]:
        """Yield the lines of a function."""
        yield f"const {function.name} = ({', '.join(function.parameters)}) => {{"
        yield from indented((line for each in function.body for line in self.lines(each)), "  ")
        yield from (f"  return {function.result};", "};")

    def function(self, parameters: str, body: str) -> str:
        """Return an anonymous function."""
        return f"({parameters}) => {body}"

    def literal(self, value: object) -> str:
        """Return a Python value as a literal of JavaScript."""
        if isinstance(value, slice):
            parts = (("start", value.start), ("stop", value.stop), ("step", value.step))
            return f"{{{', '.join(f'{name}: {self.literal(part)}' for name, part in parts)}}}"
        if isinstance(value, list | tuple):
            return self.listed(list(map(self.literal, value)))
        return Language.literal(self, value)

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
