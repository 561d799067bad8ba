"""Programs of findings in other languages than Python: what their files are called, and how they assert what is right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from refgrad.grading.judging.evidence import Absent, Entry, Error
from refgrad.grading.judging.narration import name_of
from refgrad.grading.judging.verdict import Verdict
from refgrad.report.findings.lines import what_of
from refgrad.report.findings.tolerance import comparison

CONDITIONS: Final = (
    (re.compile(r"math\.isnan\(got\)"), "Number.isNaN(got)"),
    (
        re.compile(r"math\.isclose\(got, (\S+), rel_tol=(\S+)\)"),
        r"Math.abs(got - \1) <= \2 * Math.max(Math.abs(got), Math.abs(\1))",
    ),
    (re.compile(r"^(\S+) <= got <= (\S+)$"), r"\1 <= got && got <= \2"),
    (re.compile(r"^abs\("), "Math.abs("),
    (re.compile(r'float\("(-?)inf"\)'), r"\1Infinity"),
)
"""How conditions of Python on ``got`` are written."""


@dataclass(frozen=True, slots=True)
class Written:
    """How the programs of a language are written to files: their ending, their remarks, and what runs them."""

    suffix: str
    remark: str
    look: re.Pattern[str] = re.compile(r"(?!)")
    command: tuple[str, ...] = ()


LANGUAGES: Final[Mapping[str, Written]] = MappingProxyType({
    "python": Written(".py", "#"),
    "javascript": Written(".js", "//", re.compile(r"^console\.log\((?P<shown>.*)\); // (?P<what>.*)$"), ("node",)),
})


def asserting(verdict: Verdict, language: str) -> str | None:
    """Return a program that ends with an assertion, or with the error of an engine, None for what it cannot assert."""
    fact = None if verdict.evidence is None else verdict.evidence.fact
    look = LANGUAGES[language].look
    lines = verdict.reproduction.rstrip().splitlines()
    if isinstance(fact, Error | Absent) and not (isinstance(fact, Error) and fact.expected) and fact.error is not None:
        return "\n".join(line for line in lines if not look.match(line)) + "\n"
    if not isinstance(fact, Entry) or fact.subject.of == "hook":
        return None
    what = what_of(fact.subject)
    found = [(number, match) for number, line in enumerate(lines) if (match := look.match(line)) and match["what"] == what]
    if not found:
        return None
    number, match = found[-1]
    index = "".join(f"[{int(place)}]" for place in fact.index)
    test, right = comparison(fact)
    for pattern, text in CONDITIONS:
        test = pattern.sub(text, test)
    said = f"{name_of(fact.subject)}{f' at {index}' if index else ''} is ${{got}}, but it should be {right}"
    before = [line for line in lines[:number] if not look.match(line)]
    end = [f"var got = {match['shown']}{index};", f'require("node:assert")({test}, `{said}`);']
    return "\n".join([*before, *end]) + "\n"
