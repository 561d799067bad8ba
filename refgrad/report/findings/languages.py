"""Programs of findings in languages other than Python: simplified, with an assertion of the right result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from refgrad.facts import Entry, Error, Fact, Inconsistent
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.display import program_lines
from refgrad.native.languages import Language
from refgrad.native.statements import Call, Code, LocalFunction, Show, Statement

REJECTION: Final = re.compile(r"\n *if \(.*\) throw new NotImplementedError\(.*\);")
"""Statement of a helper function that rejects arguments. A program that was run did not reach it."""

HELPER: Final = re.compile(r"function (\w+)\(([\w, ]*)\) \{(?:  //.*)?\n  return ([^ {}]+);\n\}")
"""A helper function of JavaScript that only returns an expression."""


@dataclass(frozen=True, slots=True)
class Printed:
    """The text of a program, and whether it fails: by an assertion, an error, or the end of its process."""

    text: str
    fails: bool


def simplified(statement: Statement, setup: str) -> Statement:
    """Return a statement with the expressions that helper functions of a setup return in place of their calls."""
    match statement:
        case Call():
            return _simplified(statement, setup)
        case Show(call=call):
            return replace(statement, call=_simplified(call, setup))
        case LocalFunction(body=body):
            return replace(statement, body=tuple(simplified(each, setup) for each in body))
    return statement


def _simplified(call: Call, setup: str) -> Call:
    fields = {name: _simplified(each, setup) if isinstance(each, Call) else each for name, each in call.fields.items()}
    return replace(call, template=_inlined(call.template, setup), fields=fields)


def _inlined(template: str, setup: str) -> str:
    """Return a template with helper functions inlined whose arguments are fields and numbers."""
    for helper in HELPER.finditer(setup):
        parameters = helper[2].split(", ")
        for call in re.finditer(rf"(?<![\w.]){helper[1]}\(([\w{{}}]+(?:, [\w{{}}]+)*)\)", template):
            values = dict(zip(parameters, call[1].split(", "), strict=False))
            value = re.sub(r"(?<![\w.])\w+", lambda word, values=values: values.get(word[0], word[0]), helper[3])
            template = template.replace(call[0], value)
    return template


def program(verdict: Verdict, setup: str, language: Language) -> Printed:
    """Return the program of a verdict: with an assertion, or ended by the error of an engine."""
    if any(isinstance(each, Code) for each in verdict.reproduction):
        return Printed("\n".join(each.text for each in verdict.reproduction if isinstance(each, Code)), fails=False)
    past = REJECTION.sub("", setup)
    statements = [simplified(each, past) for each in verdict.reproduction]
    shows = [each for each in statements if isinstance(each, Show)]
    ends = isinstance(verdict.fact, Error) and not verdict.fact.expected
    end = _asserted(verdict.fact, shows, language)
    kept = [each for each in statements if not isinstance(each, Show) or (end is None and not ends)]
    body = "\n".join([*program_lines(kept, language), *(end or ())])
    return Printed(language.whole(past, body), fails=ends or end is not None)


def _asserted(fact: Fact | None, shows: Sequence[Show], language: Language) -> list[str] | None:
    """Return the lines that assert the right result, or None if nothing can be asserted."""
    expressions = [language.called(each.call) for each in shows]
    if isinstance(fact, Inconsistent):
        moved = [(text, each.array.ravel().tolist()) for text, each in zip(expressions, fact.direction, strict=True)]
        got = " + ".join(language.along.format(shown=text, direction=direction) for text, direction in moved)
        names = " and ".join(f"{each.name} by {each.array.tolist()}" for each in fact.direction)
        expected, what = fact.condition, f"the change by moving {names}"
    elif isinstance(fact, Entry) and fact.subject.of != "hook":
        index = "".join(f"[{int(each)}]" for each in fact.index)
        got, expected = expressions[0] + index, fact.condition
        what = f"{fact.subject.text}{index and f' at {index}'}"
    else:
        return None
    fields = {"shown": got, "test": expected.text(language), "what": what, "right": expected.right}
    return [line.format(**fields) for line in language.assertion]
