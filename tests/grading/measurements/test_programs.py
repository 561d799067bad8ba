"""The fields of programs stand for calls of the engine's library, and every program is one of Python."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from refgrad.grading.measurements.exercises import EXERCISES
from refgrad.grading.measurements.memory import RELEASES, REPETITIONS
from refgrad.grading.measurements.programs import PARTS, MeasuredProgram, filled
from refgrad.native.adapter import FunctionalAdapter
from refgrad.native.engine import Engine, start
from refgrad.native.library import Library, function
from tests.effort import each
from tests.native.reference import ADAPTER

TAPE = Library(start(ADAPTER))
FUNCTIONAL = Library(
    Engine(
        FunctionalAdapter(
            name="pulled",
            setup="",
            leaf="{array}",
            vjp="pull({function}, {primals})",
            operators={"add": "{x} + {y}", "multiply": "{x} * {y}", "sum": "{x}.sum()"},
        )
    )
)
ALL = {**EXERCISES, **RELEASES, **REPETITIONS}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("x = {leaf:3.0}", ["x = torch.tensor(np.array(3.0), requires_grad=True)"]),
        ("{add:total; {detach:x=loss}}", ["total + loss.detach()"]),
        ("f(lambda x: {polynomial:x})", ["f(lambda x: x * x + x)"]),
        ("if y:\n    {left}", ["if y:", *(f"    note('what is left in {n}', {n}.grad)" for n in "xyz")]),
        ("{compared:number=k}", PARTS["compared"].lines(TAPE, number="k")),
        ("{products}\n", [*filled("x = {leaf:2.0}\ny = {leaf:3.0}\nz = {leaf:5.0}", TAPE), "p = x * y", "q = p * x"]),
    ],
)
def test_a_field_stands_for_a_call_a_template_or_a_part(text: str, lines: list[str]) -> None:
    plain = {"add": "{x} + {y}", "multiply": "{x} * {y}"}
    library = Library(start(replace(ADAPTER, operators=plain, aliases={}, gradient="{leaf}.grad")))
    assert filled(text, library) == lines


@each("name", ALL)
@pytest.mark.parametrize("library", [TAPE, FUNCTIONAL], ids=["tape", "functional"])
def test_every_program_is_one_of_python(name: str, library: Library) -> None:
    program = ALL[name]
    if program.lacking(library):
        assert library is FUNCTIONAL
        return
    ast.parse(function("attempt()", [*program.lines(library), "return None"]))


def test_a_program_for_no_kind_of_engine_is_none() -> None:
    assert all(program.tape is not None for program in ALL.values())
    assert MeasuredProgram(what="nothing", tape="").lacking(FUNCTIONAL) == "tape"
