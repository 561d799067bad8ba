"""Programs of findings in Python: the code that was run, with an assertion of the right result at the end."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import Final

from refgrad.facts import Died, Error, Measured, NotedNumber, Silence
from refgrad.facts.assertion import ProgramEnd
from refgrad.facts.behaviour import reasons
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.measurements.growth import GROWTH
from refgrad.grading.measurements.memory import RESIDENT, SIZES, TRACED
from refgrad.native.languages.language import Template
from refgrad.native.statements import Call, Code, Name, Show
from refgrad.report import TABLE
from refgrad.report.findings.folding import last_name
from refgrad.report.findings.languages import Printed
from refgrad.report.findings.tidying import tidied
from refgrad.report.findings.trees import IMPORTS, Filling, Piece, called, pieces, printed, program_of
from refgrad.report.severity import shapes_of, steps_of
from refgrad.scenario import Apply

IMPORTED: Final = {"math": "import math", "np": "import numpy as np"}
"""Imports that programs need in addition to those of engine files, by the names that they bind."""

COPIES: Final = frozenset({"as_numpy", "asarray", "array", "numbers"})
"""Functions that convert a tensor to a NumPy array."""

METHODS: Final = frozenset({"clone", "numpy"})

FIELD: Final = "field_of_template_{}"
"""Name that stands for a field of an assertion until an expression replaces it."""

ENDS: Final[Mapping[str, str]] = TABLE["program_ends"]
"""Ends of programs of measurements, with an assertion, by what is measured."""


def python_program(verdict: Verdict, setup: str, *, known: bool) -> Printed:
    """Return the program of a verdict. ``known`` says that the engine's file comes with refgrad.

    Code that is not Python is returned unchanged.
    """
    statements = verdict.reproduction
    try:
        if statements and isinstance(statements[-1], Code) and not isinstance(verdict.fact, Silence):
            body, fails = _measuring(verdict)
            return Printed(tidied(list(takewhile(_is_leading, body)), body, shapes_of(verdict)), fails)
        head = _head(setup)
        body, fails = _body(verdict, head, known=known)
        return Printed(tidied(head, [*head, *body], shapes_of(verdict)), fails)
    except (ValueError, RecursionError):
        return Printed("".join(f"{each.text.rstrip()}\n" for each in statements if isinstance(each, Code)), fails=False)


def _is_leading(piece: Piece) -> bool:
    """Return True for an import, a function, a call, or an assignment to attributes."""
    match piece.node:
        case ast.Assign(targets=targets):
            return all(isinstance(each, ast.Attribute) for each in targets)
    return isinstance(piece.node, (*IMPORTS, ast.FunctionDef, ast.Expr))


def _head(setup: str) -> list[Piece]:
    """Return the statements of a setup, preceded by the imports that it lacks."""
    program = pieces(setup)
    bound = set(_modules(program).values())
    return [*(each for name, text in IMPORTED.items() if name not in bound for each in pieces(text)), *program]


def _modules(program: Sequence[Piece]) -> Mapping[str, str]:
    """Return the names that imports bind, by module."""
    imports = [each.node for each in program if isinstance(each.node, IMPORTS)]
    return {name.name: name.asname or name.name for node in imports for name in node.names}


def _body(verdict: Verdict, head: Sequence[Piece], *, known: bool) -> tuple[list[Piece], bool]:
    """Return the statements of a verdict with an assertion or prints at their end, and whether the program fails."""
    reproduction = verdict.reproduction
    shows = [each for each in reproduction if isinstance(each, Show)]
    statements = [each for each in reproduction if not isinstance(each, Show)]
    body, fact = program_of(statements), verdict.fact
    if isinstance(fact, Silence):
        return [*body[:-1], _silent(body[-1].node, fact)], True
    if _ends(verdict):
        way = "tensor" if isinstance(fact, Died) else "unmasked"
        return [*body, *(Piece.new(printed(_read(show, way, known=known))) for show in shows)], True
    parents = {step.name: list(step.arguments) for step in steps_of(verdict) if isinstance(step, Apply)}
    program_end = ProgramEnd(statements, shows, _modules(head), parents)
    assertion = fact.assertion(program_end) if fact is not None and fact.has_plain_names else None
    if assertion is None:
        return [*body, *(Piece.new(printed(called(show.call)), show.what) for show in shows)], False
    got = ast.Assign([ast.Name("got", ast.Store())], _got(assertion.got, shows, known=known), lineno=0)
    end = Piece(ast.Pass(), assertion.text, needs=tuple(assertion.modules))
    return [*body, *program_of(assertion.before), Piece.new(got), end], True


def _ends(verdict: Verdict) -> bool:
    """Return True if a program ends by an error, or by the end of its process, rather than by an assertion."""
    fact = verdict.fact
    if isinstance(fact, Died):
        return verdict.evidence is not None and verdict.evidence.repeatable
    return fact is not None and fact.raised is not None and not (isinstance(fact, Error) and fact.expected)


def _got(call: Call, shows: Sequence[Show], *, known: bool) -> ast.expr:
    """Return the asserted expression. Its fields are replaced by the expressions that the program shows."""
    filled: dict[str, ast.expr] = {}
    for name in set(Template(call.template).fields) - call.fields.keys():
        way, _, number = name.partition("_")
        [show] = shows[int(number) :][:1] if number else shows
        filled[FIELD.format(name)] = _read(show, way, known=known)
        call = replace(call, fields={**call.fields, name: Name(FIELD.format(name))})
    return Filling(filled).visit(called(call))  # type: ignore[no-any-return]


def _silent(last: ast.stmt, fact: Silence) -> Piece:
    """Return a statement that asserts that another one raises an error."""
    text = f"no error was raised, though {reasons(fact.expected_kinds)}"
    error = ast.Call(ast.Name("AssertionError", ast.Load()), [ast.Constant(text)], [])
    tried = last.body if isinstance(last, ast.Try) else [last]
    handler = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])
    return Piece.new(ast.Try(tried, [handler], [ast.Raise(error)], []))


def _measuring(verdict: Verdict) -> tuple[list[Piece], bool]:
    """Return the code of a measurement with an assertion at its end."""
    code = "\n".join(each.text for each in verdict.reproduction if isinstance(each, Code))
    if isinstance(verdict.fact, Measured | NotedNumber):
        with suppress(LookupError):
            return pieces(measured(verdict.fact, code.splitlines())), True
    if _ends(verdict):
        return [_unprinted(piece) for piece in pieces(code)], True
    return pieces(code), False


def _unprinted(piece: Piece) -> Piece:
    """Return the call in a ``print`` statement, for a program that ends with an error; other statements unchanged."""
    match piece.node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[ast.Call() as call])):
            return Piece.new(ast.Expr(call))
    return piece


def unmasked(expression: ast.expr) -> ast.expr:
    """Return the last branch of a conditional expression, which reads a value unless it is None."""
    return expression.orelse if isinstance(expression, ast.IfExp) else expression


def bare(expression: ast.expr) -> ast.expr:
    """Return the expression of the tensor that an expression converts to an array, or of the dtype that it reads."""
    return _bare(unmasked(expression))


def _bare(expression: ast.expr) -> ast.expr:
    match expression:
        case ast.Call(
            func=ast.Name(id="getattr"),
            args=[inner, ast.Constant(value=str(name))]
            | [inner, ast.Constant(value=str(name)), ast.Constant(value=None)],
        ):
            return ast.Attribute(_bare(inner), name, ast.Load())
        case ast.Attribute(value=inner, attr="dtype"):
            return ast.Attribute(_bare(inner), "dtype", ast.Load())
        case ast.Call(func=ast.Attribute(value=inner, attr=method), args=[]) if method in METHODS:
            return _bare(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="detach"), args=[]):
            tensor = _bare(inner)
            return tensor if isinstance(tensor, ast.Attribute) and tensor.attr == "grad" else expression
        case ast.Call(args=[inner], keywords=[]) if last_name(expression.func) in COPIES:
            return _bare(inner)
    return expression


def _read(show: Show, way: str, *, known: bool) -> ast.expr:
    """Return the expression of a shown value in the form that a field of an assertion asks for.

    For a library that is not ``known``, tensors are converted explicitly: they may not convert to numbers themselves.
    """
    dtype = show.dtype or Call("np.asarray({shown}).dtype", {"shown": show.call})
    expression = called(dtype if way == "dtype" else show.call)
    if way == "shown" or (way == "maybe" and not known):
        return expression
    return bare(expression) if known and way != "unmasked" else unmasked(expression)


def measured(fact: Measured | NotedNumber, code: Sequence[str]) -> str:
    """Return a program that asserts its time, memory or numbers. Raises LookupError or ValueError if it prints none."""
    if isinstance(fact, NotedNumber):
        return _noted(fact, code)
    if fact.quantity == "time":
        return _linear(code)
    number = max((number for number, line in enumerate(code) if line.startswith("print(")), default=0)
    fields = {"shown": ast.unparse(_printed(code[number])[0]), "share": SIZES["share"]}
    if fact.quantity == "growth":  # the call is `attempt(N)` with the number of iterations
        fields["iterations"] = int(fields["shown"].removeprefix("attempt(").removesuffix(")"))
        fields["noise"] = (TRACED if "tracemalloc.start()" in code else RESIDENT).noise
    return "\n".join([*code[:number], ENDS[fact.quantity].format(**fields)])


def _printed(line: str) -> list[ast.expr]:
    """Return the expressions that a line prints. Raises LookupError if it is not a call of ``print``."""
    match ast.parse(line.strip()).body if line.strip().startswith("print(") else []:
        case [ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[*expressions]))]:
            return expressions
    raise LookupError(f"{line!r} prints nothing")


def _linear(code: Sequence[str]) -> str:
    """Return a program that collects times in its loop over sizes, and then asserts that they grow linearly."""
    number = [line.strip().startswith("print(n, ") for line in code].index(True)
    seconds = ast.unparse(_printed(code[number])[1])
    head, end = list(code[:number]), ENDS["time"].format(seconds=seconds, steepest=GROWTH["steepest"])
    loop = max(number for number, text in enumerate(head) if text.startswith("for "))
    return "\n".join([*head[:loop], "seconds = {}", *head[loop:], end])


def _noted(fact: NotedNumber, code: Sequence[str]) -> str:
    """Return a program that asserts the expected numbers of an exercise.

    The assertion takes a missing gradient as zero. One that is missing where zero is expected, and a label under which
    nothing was noted, have an assertion of their own.
    """
    expected = {label: float(number) for label, number in fact.numbers}
    end = "missing" if fact.seen is None and not (fact.runs and float(fact.expected)) else "numbers"
    test = "None not in got" if fact.runs else "got"
    text = ENDS[end].format(expected=expected, label=fact.label, test=test, message=fact.message())
    return "\n".join([*code[: code.index("for label, counts in attempt():")], text])
