"""Programs of findings in Python: the code that was run, with an assertion of the right result at the end."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final

from refgrad.grading.judging.evidence import Absent, Died, Error, Measured, Silence
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.statements import Code, Show
from refgrad.report.findings.assertion import REASONS, ProgramEnd, asserted, has_plain_names, unmasked
from refgrad.report.findings.languages import Printed
from refgrad.report.findings.measured import measured, noted
from refgrad.report.findings.tidying import Piece, pieces, tidied
from refgrad.report.findings.tidying.pieces import IMPORTS
from refgrad.report.findings.tidying.trees import called, printed, program_of
from refgrad.report.severity import shapes_of, steps_of
from refgrad.scenario import Apply

IMPORTED: Final = {"math": "import math", "np": "import numpy as np"}
"""Imports that programs need in addition to those of engine files, by the names that they bind."""


def python_program(verdict: Verdict, setup: str, *, known: bool) -> Printed:
    """Return the program of a verdict. ``known`` says that the engine's file comes with refgrad.

    Code that is no Python is returned as it is.
    """
    given = verdict.reproduction
    try:
        if given and isinstance(given[-1], Code) and not isinstance(verdict.fact, Silence):
            body, fails = _measuring(verdict)
            return Printed(tidied(list(takewhile(_is_leading, body)), body, shapes_of(verdict)), fails)
        head = _head(setup)
        body, fails = _body(verdict, head, known=known)
        return Printed(tidied(head, [*head, *body], shapes_of(verdict)), fails)
    except (ValueError, RecursionError):
        return Printed("".join(f"{each.text.rstrip()}\n" for each in given if isinstance(each, Code)), fails=False)


def _is_leading(piece: Piece) -> bool:
    """Return True for an import, a function, or a statement that sets something of a library."""
    match piece.node:
        case ast.Assign(targets=targets):
            return all(isinstance(each, ast.Attribute) for each in targets)
    return isinstance(piece.node, (*IMPORTS, ast.FunctionDef, ast.Expr))


def _head(setup: str) -> list[Piece]:
    """Return the statements of a setup, after the imports that it lacks."""
    given = pieces(setup)
    bound = set(_modules(given).values())
    return [*(each for name, text in IMPORTED.items() if name not in bound for each in pieces(text)), *given]


def _modules(program: Sequence[Piece]) -> Mapping[str, str]:
    """Return the names that imports bind, by module."""
    imports = [each.node for each in program if isinstance(each.node, IMPORTS)]
    return {name.name: name.asname or name.name for node in imports for name in node.names}


def _body(verdict: Verdict, head: Sequence[Piece], *, known: bool) -> tuple[list[Piece], bool]:
    """Return the statements of a verdict and what stands at their end, and whether the program fails."""
    given = verdict.reproduction
    shows = [each for each in given if isinstance(each, Show)]
    statements = [each for each in given if not isinstance(each, Show)]
    body, fact = program_of(statements), verdict.fact
    if isinstance(fact, Silence):
        return [*body[:-1], _silent(body[-1].node, fact)], True
    shown = ProgramEnd(statements, shows, _modules(head), known, _parents(verdict))
    if _ends(verdict):
        read = shown.bare if isinstance(fact, Died) else lambda call: unmasked(called(call))
        return [*body, *(Piece.new(printed(read(show.call))) for show in shows)], True
    found = asserted(fact, shown) if fact is not None and has_plain_names(fact) else None
    if found is None:
        return [*body, *(Piece.new(printed(called(show.call)), show.what) for show in shows)], False
    got = ast.Assign([ast.Name("got", ast.Store())], found.got, lineno=0)
    checked = Piece(ast.Pass(), found.text, needs=tuple(found.needs))
    return [*body, *map(Piece.new, found.before), Piece.new(got), checked], True


def _parents(verdict: Verdict) -> dict[str, list[str]]:
    """Return the arguments of each application, by the name of its result."""
    return {step.name: list(step.arguments) for step in steps_of(verdict) if isinstance(step, Apply)}


def _ends(verdict: Verdict) -> bool:
    """Return True if a program ends with an error, or ends its process, without an assertion."""
    fact = verdict.fact
    if isinstance(fact, Died):
        return verdict.evidence is not None and verdict.evidence.repeatable
    return (isinstance(fact, Error) and not fact.expected) or (isinstance(fact, Absent) and fact.error is not None)


def _silent(last: ast.stmt, fact: Silence) -> Piece:
    """Return a statement that asserts that another one raises an error."""
    reason = " or ".join(REASONS.get(kind, kind) for kind in fact.due)
    error = ast.Call(
        ast.Name("AssertionError", ast.Load()), [ast.Constant(f"no error was raised, though {reason}")], []
    )
    tried = last.body if isinstance(last, ast.Try) else [last]
    handler = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])
    return Piece.new(ast.Try(tried, [handler], [ast.Raise(error)], []))


def _measuring(verdict: Verdict) -> tuple[list[Piece], bool]:
    """Return the code of a measurement with an assertion at its end."""
    code = "\n".join(each.text for each in verdict.reproduction if isinstance(each, Code))
    fact = verdict.fact
    try:
        if isinstance(fact, Measured):
            return pieces(measured(fact, code.splitlines())), True
        text = noted(code.splitlines()) if verdict.evidence is None else None
    except LookupError:
        text = None
    program = pieces(code if text is None else text)
    if _ends(verdict):
        return [_unprinted(piece) for piece in program], True
    return program, text is not None


def _unprinted(piece: Piece) -> Piece:
    """Return the call that a statement prints, for one that ends with an error."""
    match piece.node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[ast.Call() as call])):
            return Piece.new(ast.Expr(call))
    return piece
