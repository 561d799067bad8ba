"""Turns a printed program into one that asserts what is right, and fails: the last look becomes an assertion.

Each kind of fact has its own assertion. The name ``got`` holds what the library gave, which ``refgrad confirm`` reads.
"""

from __future__ import annotations

import ast
import re
from functools import singledispatch
from typing import Final

from refgrad.grading.judging.evidence import (
    Absent,
    Calls,
    Died,
    Dtype,
    Entry,
    Error,
    Fact,
    Flag,
    Measured,
    Parents,
    SeedWrite,
    Shape,
    Silence,
    Subject,
    Uncoupled,
    Unsent,
)
from refgrad.grading.judging.narration import name_of
from refgrad.grading.judging.verdict import Verdict
from refgrad.report.findings.lines import (
    Program,
    dtype_in,
    label_of,
    quoted,
    what_of,
    with_imports,
    without_looks,
)
from refgrad.report.findings.looks import unmasked
from refgrad.report.findings.measured import measured, noted
from refgrad.report.findings.tidying import MOST_TEXT
from refgrad.report.findings.tolerance import comparison
from refgrad.report.severity import scenario_of
from refgrad.scenario import Apply, Read, Step

REASONS: Final = {
    "freed-graph": "the graph was freed",
    "hook-on-constant": "a constant has no gradient to watch",
    "implicit-seed": "an output of several entries needs a seed",
    "leaf-in-place": "a leaf that requires grad was written to",
    "modified-in-place": "a value that the graph needs was overwritten",
    "no-graph": "nothing was recorded",
    "requires-grad-of-non-leaf": "only leaves can be told to require grad or not",
    "retain-grad-on-constant": "a constant has no gradient to keep",
    "seed-shape": "the seed has another shape than the output",
    "write-shape": "what is written does not fit",
}
"""Why an error of a kind is due."""


def asserting(verdict: Verdict, *, known: bool = True) -> str | None:
    """Return the program of a verdict with an assertion at its end, None for what no assertion can be made of.

    ``known`` says that it is of a library whose engine file comes with refgrad.
    """
    if not verdict.reproduction or len(verdict.reproduction) > MOST_TEXT:
        return None
    lines = verdict.reproduction.rstrip().splitlines()
    try:
        if verdict.evidence is None:
            text = noted(lines)
        else:
            _check_names(verdict.evidence.fact)
            text = asserted(verdict.evidence.fact, Program(lines, verdict.evidence, scenario_of(verdict), known))
        if text is not None:
            ast.parse(text)
    except (LookupError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return text


@singledispatch
def asserted(fact: Fact, program: Program) -> str | None:  # noqa: ARG001 (there is one function for each kind of fact)
    """Return a program that asserts what is right in place of a fact, None where nothing can be asserted."""
    return None


@asserted.register
def _(fact: Entry, program: Program) -> str:
    number, (shown, *_), margin = program.look(what_of(fact.subject))
    index = f"[{', '.join(str(int(number)) for number in fact.index)}]" if fact.index else ""
    array = f"{unmasked(shown)}[{fact.subject.call - 1}]" if fact.subject.of == "hook" else program.bare(shown)
    place = f" at {index}" if index else ""
    test, right = comparison(fact)
    said = f"{name_of(fact.subject)}{place} is {{got}}, but it should be {right}"
    needs = ["import math"] if test.startswith("math.") else []
    lines = [f"got = float({array}{index})", f"assert {test}, f{quoted(said)}"]
    return with_imports(program.ended(number, margin, lines), needs)


@asserted.register
def _(fact: Dtype, program: Program) -> str | None:
    shown = program.look(what_of(fact.subject))[1]
    if not fact.expected or len(shown) != 2:  # noqa: PLR2004 (the array and its dtype)
        return None
    said = f"{name_of(fact.subject)} has the dtype {{got}}, but it should be {fact.expected}"
    test = f"got == {dtype_in(fact.expected, program)}"
    return program.asserting(what_of(fact.subject), lambda _, dtype: program.bare(dtype), test, said)


@asserted.register
def _(fact: Shape, program: Program) -> str:
    due = tuple(int(length) for length in fact.expected)
    said = f"{name_of(fact.subject)} has the shape {{got}}, but it should be {due}"
    return program.asserting(
        what_of(fact.subject), lambda shown, *_: f"tuple({program.bare(shown)}.shape)", f"got == {due}", said
    )


@asserted.register
def _(fact: Absent, program: Program) -> str | None:
    if fact.error is not None:  # the program ends with it
        return without_looks(program)
    said = f"{name_of(fact.subject)} is missing"
    return program.asserting(what_of(fact.subject), lambda shown, *_: program.told(shown), "got is not None", said)


@asserted.register
def _(fact: Error, program: Program) -> str | None:
    """Leave a program that ends with an error as it is, with the one look that does so, if a look does."""
    if fact.expected:
        return None
    step = _last_step(program)
    if isinstance(step, Read):
        number, shown, margin = program.look(label_of(step))
        return program.ended(number, margin, [f"print({unmasked(shown[0])})"])
    return without_looks(program.up_to(step.name) if isinstance(step, Apply) else program)


@asserted.register
def _(fact: Died, program: Program) -> str | None:  # noqa: ARG001 (how it ended is told by how it ends)
    """Leave a program that ends its process as it is, with the one look that does so, if a look does."""
    step = _last_step(program)
    if not program.evidence.repeatable:
        return None
    if not isinstance(step, Read):
        return without_looks(program)
    number, (shown, *_), margin = program.look(label_of(step))
    return program.ended(number, margin, [f"print({program.bare(shown)})"])


@asserted.register
def _(fact: Flag, program: Program) -> str:
    step = _last_step(program)
    assert isinstance(step, Read)
    due = bool(fact.expected)
    said = f"{label_of(step)} is {{got}}, but it should be {due}"
    return program.asserting(label_of(step), lambda shown, *_: ast.unparse(shown), f"got is {due}", said)


@asserted.register
def _(fact: Calls, program: Program) -> str:
    due = int(fact.expected)
    said = f"{fact.hook} saw {{got}} gradients, but there were {due}"
    return program.asserting(
        f"what {fact.hook} saw", lambda shown, *_: f"len({ast.unparse(shown)})", f"got == {due}", said
    )


@asserted.register
def _(fact: Unsent, program: Program) -> str:
    said = f"{fact.leaf} has the gradient {{got}}, but nothing was sent to it"
    test = "got is None or not np.any(np.asarray(got))"
    text = program.asserting(f"gradient of {fact.leaf}", lambda shown, *_: program.told(shown), test, said)
    return with_imports(text, ["import numpy as np"])


@asserted.register
def _(fact: Uncoupled, program: Program) -> str:
    """Assert that a movement of the leaves changes the output as it must."""
    terms = []
    for moved in fact.direction:
        number, (shown, *_), margin = program.look(f"gradient of {moved.name}")
        step = "" if moved.shape or float(moved.entries[0]) != 1 else f"float({program.bare(shown)})"
        terms.append(step or f"float(np.vdot(np.asarray({program.bare(shown)}), np.array({moved.array.tolist()})))")
    low, high = float(fact.lower), float(fact.upper)
    right = f"{low}" if low == high else f"between {low} and {high}"
    test = f"abs(got - {low}) < 1e-6" if low == high else f"{low} - 1e-6 < got < {high} + 1e-6"
    names = " and ".join(f"{each.name} by {_plain(each.array.tolist())}" for each in fact.direction)
    said = f"moving {names} changes the output by {right}, but by {{got}} according to the gradient"
    needs = ["import numpy as np"] if any("np." in term for term in terms) else []
    lines = [f"got = {' + '.join(terms)}", f"assert {test}, f{quoted(said)}"]
    return with_imports(program.ended(number, margin, lines), needs)


@asserted.register
def _(fact: Silence, program: Program) -> str:
    looks = [number for number, line in enumerate(program.lines) if line.startswith("print(")]
    kept = [line for number, line in enumerate(program.lines) if number not in looks]
    last = ast.parse("\n".join(kept)).body[-1]
    tried = last.body if isinstance(last, ast.Try) else [last]
    reason = " or ".join(REASONS.get(kind, kind) for kind in fact.due)
    text = "\n".join(map(ast.unparse, tried)).replace("\n", "\n    ")
    lines = kept[: last.lineno - 1]
    said = f"no error was raised, though {reason}"
    end = [
        "try:",
        f"    {text}",
        "except Exception:",
        "    pass",
        "else:",
        f"    raise AssertionError({quoted(said)})",
    ]
    return "\n".join([*lines, *end]) + "\n"


@asserted.register
def _(fact: SeedWrite, program: Program) -> str | None:  # noqa: ARG001 (the seeds of the program are looked at)
    looks = [number for number, line in enumerate(program.lines) if line.endswith("  # the seeds")]
    number, (shown, *_), margin = looks[-1], *program.look("the seeds")[1:]
    seeds = [program.bare(each) for each in shown.elts] if isinstance(shown, ast.List) else []
    assigned = [line for line in program.lines if seeds and line.startswith(f"{_base(seeds[0])} = ")]
    if not assigned:
        return None
    original = assigned[0].partition(" = ")[2]
    said = "the seed is {got}, and was {due}"
    lines = [
        f"got = np.asarray({seeds[0]})",
        f"due = np.asarray({original})",
        f"assert np.array_equal(got, due), f{quoted(said)}",
    ]
    return with_imports(program.ended(number, margin, lines), ["import numpy as np"])


@asserted.register
def _(fact: Measured, program: Program) -> str:
    return measured(fact, program)


@asserted.register
def _(fact: Parents, program: Program) -> str:
    """Assert where a node leads, or, where the order is what is wrong, where all nodes lead: sets may be in any."""
    loop = max(number for number, line in enumerate(program.lines) if line.startswith("for name, node in "))
    parents = program.lines[loop + 1].strip().partition(" = ")[2]
    led = f"[names.get(id(parent)) for parent in ({parents})]"
    if sorted(fact.seen) == sorted(fact.expected):
        due = {step.name: list(step.arguments) for step in _applications(program)}
        lines = [
            f"due = {due}",
            f"got = {{name: {led} for name, node in nodes.items() if name in due}}",
            'assert got == due, f"the nodes lead to {got}, but they should lead to {due}"',
        ]
    else:
        said = f"the node of {fact.node} leads to {{got}}, but it should lead to {list(fact.expected)}"
        lines = [
            f"node = nodes[{fact.node!r}]",
            f"got = {led}",
            f"assert sorted(map(str, got)) == {sorted(fact.expected)}, f{quoted(said)}",
        ]
    return program.ended(loop, "", lines)


def _check_names(fact: Fact) -> None:
    """Raise ValueError where a name of a fact is none of Python: it would become code."""
    names = [getattr(fact, member, None) for member in ("hook", "leaf", "node")]
    subject = getattr(fact, "subject", None)
    names += [subject.name] if isinstance(subject, Subject) else []
    names += [getattr(fact, "expected", None)] if isinstance(fact, Dtype) else []
    names += [each.name for each in fact.direction] if isinstance(fact, Uncoupled) else []
    if any(name and not str(name).isidentifier() for name in names):
        raise ValueError(f"{names} are not all names")


def _last_step(program: Program) -> Step | None:
    """Return the step that shows the evidence, if the program is of a scenario."""
    return program.scenario.steps[program.evidence.step - 1] if program.scenario and program.evidence.step else None


def _applications(program: Program) -> list[Apply]:
    return [step for step in program.scenario.steps if isinstance(step, Apply)] if program.scenario else []


def _base(expression: str) -> str:
    return re.split(r"[.\[(]", expression)[0]


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
