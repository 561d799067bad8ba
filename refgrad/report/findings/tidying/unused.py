"""Leaves out what a program in another language than Python does not use: imports, helpers, results, and refusals.

A program is read by its lines: a helper begins with one of its own and ends with the next one that ends it, and what
stands in a block is indented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from types import MappingProxyType
from typing import Final

from refgrad.report.findings.tidying.javascript import with_helpers_in_place, with_short_functions

NEVER: Final = re.compile(r"(?!)(?P<name>)")

FUNCTION: Final = re.compile(r"\bprogram_\w+")
"""What functions are called that a program consists of, where its engine has no tape."""

MOST_LINES: Final = 500
"""Longer programs are left as they are."""


@dataclass(frozen=True, slots=True)
class Forms:
    """How lines of a language begin that import, that define a helper, that name a result, and that refuse."""

    imports: re.Pattern[str] = NEVER
    helper: re.Pattern[str] = NEVER
    ends: str = "}"
    result: re.Pattern[str] = NEVER
    refusal: re.Pattern[str] = NEVER


FORMS: Final[Mapping[str, Forms]] = MappingProxyType({
    "javascript": Forms(
        helper=re.compile(r"(?:function|class) (?P<name>\w+)\b"),
        result=re.compile(r" *(?:var|const) (?P<name>\w+) = (?!.*\{$)"),
        refusal=re.compile(r" *if \(.*\) throw new NotImplementedError\(.*\);$"),
    ),
    "cpp": Forms(result=re.compile(r" *(?:Tensor|auto) (?P<name>\w+) = (?!.*\{$)")),
    "java": Forms(
        imports=re.compile(r"import [\w.]+\.(?P<name>\w+);$"),
        helper=re.compile(r"    static .*?\b(?P<name>\w+)\(.*$(?<!;)"),
        ends="    }",
        result=re.compile(r" *var (?P<name>\w+) = (?!.*\{$)"),
    ),
    "r": Forms(
        helper=re.compile(r"(?P<name>\w+) <- function\(.*\{$"),
        result=re.compile(r" *(?P<name>\w+) <- (?!.*\{$)"),
    ),
})


def without_unused(program: str, language: str, *, asserts: bool) -> str:
    """Return a program without what it does not use.

    Where it differentiates functions, results that only a function of the same name uses go, too, and all that nothing
    reads if it ``asserts`` a number. A tape knows all results.
    """
    forms = FORMS.get(language, Forms())
    lines = [line for line in program.splitlines() if not forms.refusal.match(line)]
    if len(lines) > MOST_LINES:
        return program
    if language == "javascript":
        lines = with_helpers_in_place(lines)
    tape = replace(forms, result=NEVER)
    before: list[str] = []
    while lines != before:
        before, lines = lines, list(_used(lines, forms if FUNCTION.search(program) else tape, asserts=asserts))
    if language == "javascript":
        lines = list(with_short_functions(lines))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines).lstrip("\n")) + "\n"
    return re.sub(r"\n{2,}(?=\}$)", "\n", text, flags=re.MULTILINE)


def _used(lines: Sequence[str], forms: Forms, *, asserts: bool) -> Iterator[str]:
    """Yield the lines without imports, helpers and results that no other line names."""
    number = 0
    while number < len(lines):
        line = lines[number]
        if match := forms.helper.match(line):
            end = _end(lines, number, forms)
            others = [*lines[:number], *lines[end:]]
            yield from lines[number:end] if _mentions(others, match["name"]) else ()
            number = end
            continue
        number += 1
        imported, made = forms.imports.match(line), forms.result.match(line)
        if imported and not _mentions([each for each in lines if each is not line], imported["name"]):
            continue
        if made and _is_idle(lines[number:], line, made["name"], forms, asserts=asserts):
            continue
        yield line


def _is_idle(behind: Sequence[str], line: str, name: str, forms: Forms, *, asserts: bool) -> bool:
    """Whether nothing behind a line needs the result that it names."""
    if not asserts and not _is_repeated(behind, line, name, forms):
        return False
    return not _mentions(_visible(behind, line, name, forms), name)


def _is_repeated(behind: Sequence[str], line: str, name: str, forms: Forms) -> bool:
    """Whether a block behind a line that names a result names one so, too."""
    made = [match for each in behind if _margin(each) > _margin(line) and (match := forms.result.match(each))]
    return any(match["name"] in {name, f"{name}_"} for match in made)


def _visible(behind: Sequence[str], line: str, name: str, forms: Forms) -> Iterator[str]:
    """Yield the lines behind one that names a result in which the name means that result."""
    margin = _margin(line)
    block = list(takewhile(lambda each: not each.strip() or _margin(each) >= margin, behind))
    hidden = False
    for each in block:
        match = forms.result.match(each)
        if _margin(each) <= margin:
            hidden = False
        elif match and match["name"] == name:
            hidden = True
            yield each[match.end() :]
            continue
        if not hidden:
            yield each


def _end(lines: Sequence[str], number: int, forms: Forms) -> int:
    """Return the number of the line behind a helper."""
    if lines[number].endswith(forms.ends):
        return number + 1
    return next((n + 1 for n in range(number, len(lines)) if lines[n] == forms.ends), len(lines))


def _mentions(lines: Sequence[str] | Iterator[str], name: str) -> bool:
    """Whether lines name something: by itself, or as a part of a class."""
    return any(re.search(rf"(?:(?<![\w.$\"])|\b[A-Z]\w*\.){name}\b", line) for line in lines)


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())
