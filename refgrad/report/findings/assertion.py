"""Assertions of what is right, made from facts. Programs of findings end with one, and fail.

The name ``got`` holds what the library gave, which ``refgrad confirm`` reads.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Final

from refgrad.grading.judging.evidence import (
    Absent,
    Calls,
    Dtype,
    Entry,
    Fact,
    Flag,
    Parents,
    SeedWrite,
    Shape,
    Subject,
    Uncoupled,
    Unsent,
)
from refgrad.grading.judging.narration import name_of
from refgrad.native.statements import Call, Name, Show, Statement, Walk
from refgrad.report.findings.tidying.folding import last_name
from refgrad.report.findings.tidying.pieces import Filling
from refgrad.report.findings.tidying.trees import PYTHON, called, literal
from refgrad.report.findings.tolerance import condition, movement

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
"""Reason why an error is expected, by the kind of error."""

DTYPES: Final = ("torch", "jnp", "tf", "np")
"""Names of modules that have dtypes, as engine files import them; NumPy is last, since others import it, too."""


COPIES: Final = frozenset({"as_numpy", "asarray", "array", "numbers"})
"""Functions that make an array of NumPy of a tensor."""

METHODS: Final = frozenset({"clone", "numpy"})


@dataclass(frozen=True, slots=True)
class Assertion:
    """What stands at the end of a program: ``got`` is an expression, and lines of text follow that assert.

    ``needs`` are the modules that the lines use. ``before`` are statements that bind what they use.
    """

    got: ast.expr
    test: str
    said: str
    needs: Sequence[str] = ()
    before: Sequence[ast.stmt] = field(default_factory=tuple)

    @property
    def text(self) -> str:
        """The assertion as Python."""
        form = "f" if "{" in self.said else ""
        return f"assert {self.test}, {form}{quoted(self.said)}"


def quoted(text: str) -> str:
    """Return a text in double quotes, for what may stand in an f-string."""
    return '"' + text.replace("\\", "\\\\").replace('"', "'") + '"'


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """What a program shows at its end. ``known`` says that its engine file comes with refgrad."""

    statements: Sequence[Statement]
    shows: Sequence[Show]
    modules: Mapping[str, str]
    known: bool
    parents: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Arguments of each application, by the name of its result."""

    def bare(self, call: Call) -> ast.expr:
        """Return the expression of a tensor that is there.

        Of a library that is not known nobody can say whether its tensors turn into numbers by themselves.
        """
        return bare(called(call)) if self.known else unmasked(called(call))

    def maybe(self, call: Call) -> ast.expr:
        """Return the expression of a tensor, or of ``None``."""
        return bare(called(call)) if self.known else called(call)

    def dtype(self, name: str) -> str:
        """Return how the library spells a dtype."""
        return next((f"{module}.{name}" for module in DTYPES if module in self.modules.values()), repr(name))


def has_plain_names(fact: Fact) -> bool:
    """Return True if the names of a fact are names: they become code, and an engine may have made them."""
    names = [getattr(fact, member, None) for member in ("hook", "leaf", "node")]
    subject = getattr(fact, "subject", None)
    names += [subject.name] if isinstance(subject, Subject) else []
    names += [getattr(fact, "expected", None)] if isinstance(fact, Dtype) else []
    names += [each.name for each in fact.direction] if isinstance(fact, Uncoupled) else []
    return all(not name or str(name).isidentifier() for name in names)


@singledispatch
def asserted(fact: Fact, shown: ProgramEnd) -> Assertion | None:  # noqa: ARG001 (there is one function for each kind of fact)
    """Return an assertion of the right result that a fact contradicts, or None if nothing can be asserted."""
    return None


@asserted.register
def _(fact: Entry, shown: ProgramEnd) -> Assertion:
    [show] = shown.shows
    array = shown.bare(show.call)
    if fact.subject.of == "hook":
        array = _item(unmasked(called(show.call)), (fact.subject.call - 1,))
    index = f" at [{', '.join(map(str, fact.index))}]" if fact.index else ""
    due = condition(fact)
    test = due.text(PYTHON)
    said = f"{name_of(fact.subject)}{index} is {{got}}, but it should be {due.right}"
    return Assertion(_call("float", _item(array, fact.index)), test, said, ["math"] if "math." in test else [])


@asserted.register
def _(fact: Dtype, shown: ProgramEnd) -> Assertion | None:
    [show] = shown.shows
    if not fact.expected:
        return None
    dtype = Call("np.asarray({shown}).dtype", {"shown": show.call}) if show.dtype is None else show.dtype
    said = f"{name_of(fact.subject)} has the dtype {{got}}, but it should be {fact.expected}"
    due = shown.dtype(fact.expected)
    return Assertion(shown.bare(dtype), f"got == {due}", said, [due.partition(".")[0]])


@asserted.register
def _(fact: Shape, shown: ProgramEnd) -> Assertion:
    [show] = shown.shows
    due = tuple(map(int, fact.expected))
    said = f"{name_of(fact.subject)} has the shape {{got}}, but it should be {due}"
    shape = ast.Attribute(shown.bare(show.call), "shape", ast.Load())
    return Assertion(_call("tuple", shape), f"got == {due}", said)


@asserted.register
def _(fact: Absent, shown: ProgramEnd) -> Assertion | None:
    if fact.error is not None:  # the program ends with it
        return None
    [show] = shown.shows
    return Assertion(shown.maybe(show.call), "got is not None", f"{name_of(fact.subject)} is missing")


@asserted.register
def _(fact: Flag, shown: ProgramEnd) -> Assertion:
    [show] = shown.shows
    due = bool(fact.expected)
    return Assertion(called(show.call), f"got is {due}", f"{show.what} is {{got}}, but it should be {due}")


@asserted.register
def _(fact: Calls, shown: ProgramEnd) -> Assertion:
    [show] = shown.shows
    said = f"{fact.hook} saw {{got}} gradients, but there were {fact.expected}"
    return Assertion(_call("len", called(show.call)), f"got == {fact.expected}", said)


@asserted.register
def _(fact: Unsent, shown: ProgramEnd) -> Assertion:
    [show] = shown.shows
    test = "got is None or not np.any(np.asarray(got))"
    said = f"{fact.leaf} has the gradient {{got}}, but nothing was sent to it"
    return Assertion(shown.maybe(show.call), test, said, ["np"])


@asserted.register
def _(fact: Uncoupled, shown: ProgramEnd) -> Assertion:
    """Assert that a movement of the leaves changes the output as it must."""
    terms: list[ast.expr] = []
    for moved, show in zip(fact.direction, shown.shows, strict=True):
        slope = shown.bare(show.call)
        if moved.shape or float(moved.entries[0]) != 1:
            pair = Call("np.vdot(np.asarray({x}), np.array({y}))", {"x": Name("x"), "y": Name("y")})
            slope = _filled(called(pair), x=slope, y=literal(moved.array.tolist()))
        terms.append(_call("float", slope))
    total = terms[0]
    for term in terms[1:]:
        total = ast.BinOp(total, ast.Add(), term)
    due = movement(fact)
    names = " and ".join(f"{each.name} by {_plain(each.array.tolist())}" for each in fact.direction)
    said = f"moving {names} changes the output by {due.right}, but by {{got}} according to the gradient"
    return Assertion(total, due.text(PYTHON), said)


@asserted.register
def _(fact: Parents, shown: ProgramEnd) -> Assertion:
    """Assert where a node leads, or, where the order is what is wrong, where all nodes lead: sets may be in any."""
    walk = shown.statements[-1]
    assert isinstance(walk, Walk)
    led = Call(f"[names.get(id(parent)) for parent in ({walk.parents})]", {"node": Name("node")})
    if sorted(fact.seen) != sorted(fact.expected):
        node = called(Call(f"nodes[{fact.node!r}]"))
        said = f"the node of {fact.node} leads to {{got}}, but it should lead to {list(fact.expected)}"
        before = ast.Assign([ast.Name("node", ast.Store())], node, lineno=0)
        return Assertion(called(led), f"sorted(map(str, got)) == {sorted(fact.expected)}", said, [], [before])
    due = ast.Assign([ast.Name("due", ast.Store())], literal(dict(shown.parents)), lineno=0)
    every = Call(f"{{{{name: {led.template} for name, {{node}} in nodes.items() if name in due}}}}", led.fields)
    said = "the nodes lead to {got}, but they should lead to {due}"
    return Assertion(called(every), "got == due", said, [], [due])


@asserted.register
def _(fact: SeedWrite, shown: ProgramEnd) -> Assertion | None:  # noqa: ARG001 (the seeds of the program are read)
    [show] = shown.shows
    seeds = [each.name for each in show.call.fields.values() if isinstance(each, Name)]
    made = {target: each for each in shown.statements if isinstance(each, Call) for target in each.targets}
    if not seeds or seeds[0] not in made:
        return None
    due = ast.Assign([ast.Name("due", ast.Store())], _call("np.asarray", called(made[seeds[0]])), lineno=0)
    got = _call("np.asarray", ast.Name(seeds[0], ast.Load()))
    return Assertion(got, "np.array_equal(got, due)", "the seed is {got}, and was {due}", ["np"], [due])


def _item(array: ast.expr, index: Sequence[int]) -> ast.expr:
    """Return an entry of an array."""
    if not index:
        return array
    place = literal(tuple(map(int, index)) if len(index) > 1 else int(index[0]))
    return ast.Subscript(array, place, ast.Load())


def _call(function: str, argument: ast.expr) -> ast.expr:
    return _filled(called(Call(f"{function}({{x}})", {"x": Name("x")})), x=argument)


def _filled(expression: ast.expr, **names: ast.expr) -> ast.expr:
    return Filling(names).visit(expression)  # type: ignore[no-any-return]


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def unmasked(shown: ast.expr) -> ast.expr:
    """Return an expression without the question whether it is None."""
    return shown.orelse if isinstance(shown, ast.IfExp) else shown


def bare(shown: ast.expr) -> ast.expr:
    """Return the expression of a tensor that is read; its dtype stays a dtype."""
    return _bare(unmasked(shown))


def _bare(shown: ast.expr) -> ast.expr:
    match shown:
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
            found = _bare(inner)
            return found if isinstance(found, ast.Attribute) and found.attr == "grad" else shown
        case ast.Call(args=[inner], keywords=[]) if last_name(shown.func) in COPIES:
            return _bare(inner)
    return shown
