"""The language R."""

from __future__ import annotations

import re
from dataclasses import dataclass

from refgrad.native.languages.language import Language, comparisons, literals


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
    standalone = ("{own}", "{folder}/standalone.py", "Rscript")
    conditions = comparisons("is.nan", "abs")
    assertion = (
        "got <- {shown}",
        "cat(format(got, digits = 17), fill = TRUE)",
        "if (!isTRUE({test})) {{",
        '  stop("AssertionError: {what} is ", got, ", but it should be {right}", call. = FALSE)',
        "}}",
    )
    list_form = "list({})"
    function_lines = (("{name} <- function(primals) {{",), ("  {result}", "}}"))
    taking = "{parameter} <- primals[[{index}]]"
