"""The language R."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refgrad.native.languages.language import Language, comparisons, indented, literals
from refgrad.native.statements import Function


@dataclass(frozen=True, slots=True)
class R(Language):
    """R, in which integers are doubles, too."""

    name = "r"
    runner = ("Rscript", "--vanilla", "{runners}/r_runner.R")
    suffix = ".R"
    comment = "#"
    element = "[[{}]]"
    first = 1
    end = ""
    binding = "{name} <- {value}"
    deleting = "rm({name})"
    showing = "cat(format({shown}, digits = 17), fill = TRUE)  # {what}"
    handler = (("tryCatch({",), ("}, error = function(error) cat(conditionMessage(error), fill = TRUE))",))
    words = literals("NULL", "TRUE", "FALSE", "NaN", "Inf", "-Inf")
    definition = re.compile(r"(\w+) <-")
    standalone = ("{own}", "{folder}/alone.py", "Rscript")
    conditions = comparisons("is.nan", "abs")
    assertion = (
        "got <- {shown}",
        "cat(format(got, digits = 17), fill = TRUE)",
        "if (!isTRUE({test})) {{",
        '  stop("AssertionError: {what} is ", got, ", but it should be {right}", call. = FALSE)',
        "}}",
    )
    along = "{shown} * {direction[0]}"

    def defined(self, function: Function) -> Iterator[str]:
        """Yield the lines of a function."""
        yield f"{function.name} <- function(primals) {{"
        yield from (f"  {name} <- primals[[{i}]]" for i, name in enumerate(function.parameters, 1))
        yield from indented((line for each in function.body for line in self.lines(each)), "  ")
        yield from (f"  {function.result}", "}")

    def listed(self, items: Sequence[str]) -> str:
        """Return a list of expressions."""
        return f"list({', '.join(items)})"
