"""The language of engines whose runner comes from outside and whose programs refgrad cannot print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from refgrad.native.languages.language import Language, indented
from refgrad.native.statements import Call


@dataclass(frozen=True, slots=True)
class Unprinted(Language):
    """A language that refgrad does not know. Programs list the templates with their fields filled in, for readers."""

    name = "none"
    suffix = ".txt"
    comment = "#"
    nests = False
    element = ""
    end = ""
    binding = "{name} = {value}"
    deleting = "delete {name}"
    showing = "show {shown}  # {what}"
    handler = (("try",), ("and go on after an error",))
    function_lines = (("function {name} of {parameters}",), ("    result {result}",))
    indentation = "    "
    along = ""

    def parts(self, call: Call) -> Iterable[str]:
        """Return the part of a result that each target takes, by its number."""
        return (f" part {number}" for number, _ in enumerate(call.targets, 1))

    def needed(self, setup: str, body: str) -> str:  # noqa: ARG002 (nobody knows what a part of it defines)
        """Return a setup as it is."""
        return setup

    def region(self, region: Call, inner: Iterable[str], *, by_error: bool) -> Iterator[str]:
        """Yield the lines of a region."""
        yield f"within {self.called(region)}{', which an error ends' * by_error}"
        yield from indented(inner)
