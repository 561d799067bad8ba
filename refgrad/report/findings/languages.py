"""Programs of findings in other languages than Python: how their files end, and how they assert what is right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from types import MappingProxyType
from typing import Final

from refgrad.grading.judging.evidence import Entry, Error, Uncoupled
from refgrad.grading.judging.narration import name_of
from refgrad.grading.judging.verdict import Verdict
from refgrad.report.findings.lines import what_of
from refgrad.report.findings.tolerance import comparison

NEVER: Final = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Written:
    """How programs of a language are run, printed values found in them, and assertions written.

    ``conditions`` say how those of Python are written, ``asserted`` are the lines that end a program in which ``got``
    does not meet one; behind them a program is kept from the line on that ``ends`` fits. ``along`` is what a gradient
    says of a movement.
    """

    runs: tuple[str, ...] = ()
    look: re.Pattern[str] = NEVER
    conditions: tuple[tuple[str, str], ...] = ()
    asserted: tuple[str, ...] = ()
    ends: re.Pattern[str] = NEVER
    along: str = ""

    def condition(self, test: str) -> str:
        """Return a condition on ``got``."""
        for pattern, text in self.conditions:
            test = re.sub(pattern, text, test)
        return test


SLACK: Final = 1e-6
"""How far a change may be from what is due."""

CLOSE: Final = r"math\.isclose\(got, (\S+), rel_tol=(\S+)\)"


def _conditions(is_nan: str, absolute: str, infinity: str) -> tuple[tuple[str, str], ...]:
    """Return how Python's conditions are written where functions and infinity have these names."""
    return (
        (r"math\.isnan\(got\)", f"{is_nan}(got)"),
        (CLOSE, rf"{absolute}(got - \1) <= \2 * {absolute}(\1)"),
        (r"^(\S+) <= got <= (\S+)$", r"\1 <= got && got <= \2"),
        (r"^abs\(", f"{absolute}("),
        (r'float\("(-?)inf"\)', rf"\1{infinity}"),
    )


LANGUAGES: Final[Mapping[str, Written]] = MappingProxyType({
    "python": Written(("{python}", "-c", "{text}")),
    "javascript": Written(
        ("node", "{folder}/alone.js"),
        re.compile(r"^ *console\.log\((?P<shown>.*)\); // (?P<what>.*)$"),
        _conditions("Number.isNaN", "Math.abs", "Infinity"),
        ("var got = {shown};", 'require("node:assert")({test}, `{what} is ${{got}}, but it should be {right}`);'),
        along="[{shown}].flat(Infinity).reduce((sum, slope, i) => sum + slope * {direction}[i], 0)",
    ),
    "cpp": Written(
        ("{own}", "{folder}/alone_by_tool.py", "g++"),
        re.compile(r"^ *std::cout << (?P<shown>.*) << std::endl;  // (?P<what>.*)$"),
        _conditions("std::isnan", "std::abs", "INFINITY"),
        (
            "  double got = {shown};",
            "  std::cout << got << std::endl;",
            "  if (!({test})) {{",
            '    std::cerr << "AssertionError: {what} is " << got << ", but it should be {right}" << std::endl;',
            "    return 1;",
            "  }}",
        ),
        re.compile(r"^}$"),
        "{shown} * {direction[0]}",
    ),
    "java": Written(
        ("{own}", "{folder}/alone_by_tool.py", "java"),
        re.compile(r"^ *System\.out\.println\((?P<shown>.*)\);  // (?P<what>.*)$"),
        _conditions("Double.isNaN", "Math.abs", "Double.POSITIVE_INFINITY"),
        (
            "        double got = {shown};",
            "        System.out.println(got);",
            "        if (!({test})) {{",
            '            throw new AssertionError("{what} is " + got + ", but it should be {right}");',
            "        }}",
        ),
        re.compile(r"^    }$"),
        "{shown} * {direction[0]}",
    ),
    "r": Written(
        ("{own}", "{folder}/alone_by_tool.py", "Rscript"),
        re.compile(r"^ *cat\(format\((?P<shown>.*), digits = 17\), fill = TRUE\)  # (?P<what>.*)$"),
        _conditions("is.nan", "abs", "Inf"),
        (
            "got <- {shown}",
            "cat(format(got, digits = 17), fill = TRUE)",
            "if (!isTRUE({test})) {{",
            '  stop("AssertionError: {what} is ", got, ", but it should be {right}", call. = FALSE)',
            "}}",
        ),
        along="{shown} * {direction[0]}",
    ),
    "none": Written(),
})


def asserting(verdict: Verdict, language: str) -> str | None:
    """Return a program that ends with an assertion, or with the error of an engine, None for what it cannot assert."""
    fact = verdict.fact
    written = LANGUAGES[language]
    lines = verdict.reproduction.rstrip().splitlines()
    if isinstance(fact, Error) and not fact.expected:  # the program ends with it
        return "\n".join(line for line in lines if not written.look.match(line)) + "\n"
    looks = [(number, match) for number, line in enumerate(lines) if (match := written.look.match(line))]
    if isinstance(fact, Uncoupled) and looks:
        movement = _movement(fact, {match["what"]: match["shown"] for _, match in looks}, written)
        return _ended(lines, looks[-1][0], written, movement)
    if not isinstance(fact, Entry) or fact.subject.of == "hook":
        return None
    looks = [(number, match) for number, match in looks if match["what"] == what_of(fact.subject)]
    if not looks:
        return None
    number, match = looks[-1]
    test, right = comparison(fact)
    index = "".join(f"[{int(place)}]" for place in fact.index)
    what = f"{name_of(fact.subject)} at {index}" if index else name_of(fact.subject)
    fields = {"shown": match["shown"] + index, "test": written.condition(test), "what": what, "right": right}
    return _ended(lines, number, written, fields)


def _movement(fact: Uncoupled, shown: Mapping[str, str], written: Written) -> Mapping[str, str]:
    """Return what stands in an assertion that a movement of the leaves changes the output as it must."""
    terms = [
        written.along.format(shown=shown[f"gradient of {each.name}"], direction=each.array.ravel().tolist())
        for each in fact.direction
    ]
    low, high = float(fact.lower), float(fact.upper)
    right = f"{low}" if low == high else f"between {low} and {high}"
    names = " and ".join(f"{each.name} by {each.array.tolist()}" for each in fact.direction)
    test = written.condition(f"{low - SLACK} <= got <= {high + SLACK}")
    return {"shown": " + ".join(terms), "test": test, "what": f"the change by moving {names}", "right": right}


def _ended(lines: Sequence[str], number: int, written: Written, fields: Mapping[str, str]) -> str:
    """Return a program with an assertion in place of a look, and without all other looks."""
    before = [line for line in lines[:number] if not written.look.match(line)]
    behind = dropwhile(lambda line: not written.ends.match(line), lines[number:])
    return "\n".join([*before, *(line.format(**fields) for line in written.asserted), *behind]) + "\n"
