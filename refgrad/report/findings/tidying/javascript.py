"""Puts what the helpers of a program in JavaScript return in place of their calls, and shortens its functions.

A helper is a function of one line that returns. One that returns an output and a pullback is put in place where that
pullback is called once and nothing reads the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

FUNCTION: Final = re.compile(r"function (?P<name>\w+)\((?P<parameters>[\w, ]*)\) \{(?:  // .*)?$")
RETURN: Final = re.compile(r"  return (?P<value>.*);$")
PULLBACK: Final = re.compile(r"\[(?P<function>\w+)\(\.\.\.(?P<primals>\w+)\), \((?P<seed>\w+)\) => (?P<value>.*)\]$")
PULLED: Final = re.compile(r"(?:var|const) \[(?P<output>\w+), (?P<pullback>\w+)\] = (?P<name>\w+)\((?P<given>.*)\);$")
ARROW: Final = re.compile(r"const \w+ = \([\w, ]*\) =>(?= \{$)")
RESULT: Final = re.compile(r"  var (?P<name>\w+) = (?P<value>[^{].*);$")
NULL: Final = re.compile(r"\bnull === null \? ")

BRACKETS: Final[Mapping[str, int]] = {**dict.fromkeys("([{", 1), **dict.fromkeys(")]}", -1)}


def with_helpers_in_place(lines: Sequence[str]) -> list[str]:
    """Return the lines of a program with what helpers return in place of their calls."""
    found = [_decided(line) for line in lines]
    for number, line in enumerate(found):
        match = FUNCTION.match(line)
        returned = RETURN.match(found[number + 1]) if match and found[number + 2 : number + 3] == ["}"] else None
        if match and returned:
            parameters = match["parameters"].split(", ")
            rest = [*found[:number], *found[number + 3 :]]
            pulled = PULLBACK.match(returned["value"])
            new = _pulled(rest, match["name"], pulled) if pulled else None
            if pulled is None and " " not in returned["value"]:
                new = [_filled(each, match["name"], parameters, returned["value"]) for each in rest]
            if new is not None and not any(re.search(rf"(?<![\w.]){match['name']}\(", each) for each in new):
                return with_helpers_in_place(new)
    return found


def _pulled(lines: Sequence[str], name: str, helper: re.Match[str]) -> list[str] | None:
    """Return lines with gradients where pullbacks are called, None where one is not called once."""
    found = list(lines)
    for line in lines:
        match = PULLED.match(line)
        if match is None or match["name"] != name:
            continue
        function, _, primals = match["given"].partition(", ")
        at = [number for number, each in enumerate(found) if re.search(rf"\b{match['pullback']}\b", each)]
        if len(at) != 2 or any(re.search(rf"\b{match['output']}\b", each) for each in found if each != line):  # noqa: PLR2004
            return None
        given = {helper["function"]: function, helper["primals"]: primals}
        value = _with_words(helper["value"], given)
        found[at[1]] = _filled(found[at[1]], match["pullback"], [helper["seed"]], value)
        found.remove(line)
    return found


def _filled(line: str, name: str, parameters: Sequence[str], value: str) -> str:
    """Return a line with the value of a function in place of its calls; one whose calls go on behind it as it is."""
    start = 0
    while match := re.compile(rf"(?<![\w.]){name}\(").search(line, start):
        given, end = _arguments(line, match.end())
        if len(given) != len(parameters):
            start = match.end()
            continue
        new = _with_words(value, dict(zip(parameters, given, strict=True)))
        line = line[: match.start()] + new + line[end:]
    return line


def _with_words(text: str, words: Mapping[str, str]) -> str:
    """Return a text with other words in the place of some, but not behind dots."""
    return re.sub(r"(?<![\w.])\w+", lambda word: words.get(word[0], word[0]), text)


def _arguments(line: str, start: int) -> tuple[list[str], int]:
    """Return the arguments of a call, and where it ends; none where it ends on another line."""
    given: list[str] = []
    while (end := _until(line, start, ",")) < len(line):
        given.append(line[start:end].strip())
        start = end + 1
        if line[end] != ",":
            return given, start
    return [], start


def _until(line: str, start: int, sign: str) -> int:
    """Return where a sign stands, or else the end of what brackets enclose, or that of the line."""
    depth, quote = 0, ""
    for end in range(start, len(line)):
        if quote or line[end] in "'\"`":
            quote = "" if quote == line[end] else quote or line[end]
            continue
        depth += BRACKETS.get(line[end], 0)
        if depth < 0 or (depth == 0 and line[end] == sign):
            return end
    return len(line)


def _decided(line: str) -> str:
    """Return a line with what follows from ``null === null``, which templates ask, and without a last ``undefined``."""
    while match := NULL.search(line):
        middle = _until(line, match.end(), ":")
        end = min(_until(line, middle, ","), _until(line, middle, ";"))
        line = line[: match.start()] + line[match.end() : middle].strip() + line[end:]
    return line.replace(", undefined)", ")")


def with_short_functions(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines with functions that only return something on one line."""
    number = 0
    while number < len(lines):
        arrow, result = ARROW.match(lines[number]), RESULT.match((*lines, "", "")[number + 1])
        if arrow and result and list(lines[number + 2 : number + 4]) == [f"  return {result['name']};", "};"]:
            yield f"{arrow[0]} {result['value']};"
            number += 4
        else:
            yield lines[number]
            number += 1
