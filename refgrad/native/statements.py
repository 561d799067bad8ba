"""Statements of programs: data that a runner executes and a language prints.

A statement holds code templates of the engine's language and the contents of their fields. It is sent to a runner as
JSON (:meth:`wire`) and printed by :mod:`refgrad.native.languages`; there is no third form.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from refgrad.native.runners.python_runner import encoded, literal
from refgrad.scenario import Constant

Wire: TypeAlias = dict[str, Any]

LONGEST_TEMPLATE: Final = 2_000
"""Largest number of characters of a template. The longest one in the engine files of refgrad has 214."""

LONGEST_NESTED: Final = LONGEST_TEMPLATE // 2
"""Largest number of characters of a template that is nested in another: languages reject deeply nested code."""


@dataclass(frozen=True, slots=True)
class Name:
    """A variable of the program."""

    name: str


@dataclass(frozen=True, slots=True)
class Names:
    """A list of variables."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A value that the language spells as a literal: a number, None, a truth value, text, a tuple, a slice."""

    value: Any


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression of the language as text. It is printed as part of code, and never sent to a runner by itself."""

    text: str


@dataclass(frozen=True, slots=True)
class Lambda:
    """An anonymous function whose body is one call."""

    parameters: tuple[str, ...]
    body: Call


Argument: TypeAlias = "Name | Names | Value | Constant | Call | Lambda | Expression"
"""Contents of a field of a template. A :class:`~refgrad.scenario.Constant` is an array."""


@dataclass(frozen=True, slots=True)
class Call:
    """A code template with its fields filled in. A target takes the result; with ``unpack`` several take its parts."""

    template: str
    fields: Mapping[str, Argument] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    unpack: bool = False

    def around(self, name: str, inner: Call) -> Call | None:
        """Return the call with another one nested in place of a variable, or None if it cannot be nested.

        It can if the variable fills exactly one field, which the template has once, and the nested template is short.
        """
        names = [key for key, argument in self.fields.items() if argument == Name(name)]
        if len(names) != 1:
            return None
        text, written = inner.template, f"{{{names[0]}}}"
        if self.template.count(written) != 1 or len(text) > LONGEST_NESTED or "{{" in self.template + text:
            return None
        renamed = {old: f"{old}_of_{name}" for old in inner.fields}
        for old, new in renamed.items():
            text = text.replace(f"{{{old}}}", f"{{{new}}}")
        fields = {**self.fields, **{renamed[old]: argument for old, argument in inner.fields.items()}}
        del fields[names[0]]
        return replace(self, template=self.template.replace(written, f"({text})"), fields=fields)


@dataclass(frozen=True, slots=True)
class LocalFunction:
    """A part of the program as a function of some variables. Others have their values at the time of the call."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]
    result: str


@dataclass(frozen=True, slots=True)
class Enter:
    """The beginning of a region, such as one in which nothing is recorded; ``region`` is the call that creates it."""

    region: Call


@dataclass(frozen=True, slots=True)
class Leave:
    """The end of the region that was entered last; ``by_error`` if an exception ends it, which is caught after it."""

    by_error: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """The deletion of a variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of the language as text: functions that a measurement calls."""

    text: str


Form: TypeAlias = Literal["array", "arrays", "flag", "data"]


@dataclass(frozen=True, slots=True)
class Show:
    """A read of a result, which becomes the answer of the step.

    ``form`` is the form of the answer: an ``array`` (or no array, if the call gives None), a list of ``arrays``, a
    ``flag``, or ``data``: numbers, arrays, truth values and text, nested in lists. ``dtype`` is a call that gives the
    dtype if the array does not have it. An ``optional`` variable that no statement has bound is shown as None. With
    ``timed`` the answer also has the seconds of processor time that the call took.
    """

    what: str
    call: Call
    form: Form = "array"
    dtype: Call | None = None
    optional: bool = False
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Traversal:
    """A traversal of recorded nodes, which the step answers with a graph.

    ``nodes`` maps the names of the nodes to start from to the variables that hold them; ``parents`` is a template with
    the field ``{node}`` that gives the list of nodes that a node leads to.
    """

    parents: str
    nodes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Attempt:
    """Statements that must raise an error, after which a printed program continues. It is never sent to a runner."""

    body: tuple[Statement, ...]


Statement: TypeAlias = "Call | LocalFunction | Enter | Leave | Delete | Code | Show | Traversal | Attempt"


@dataclass(frozen=True, slots=True)
class JsonForm:
    """The JSON form of a class of statements or arguments: the functions that write it, and that read and validate it.

    ``docs/reference/runner-protocol.md`` describes all forms.
    """

    kind: type
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def statement_wire(statement: Statement) -> Wire:
    """Return the JSON form of a statement: an object whose only member is named after the kind of statement."""
    name = STATEMENT_NAMES[type(statement)]
    return {name: STATEMENTS[name].write(statement)}


def statement_row(statement: Statement) -> Wire:
    """Return the JSON form of a statement in a report: that of a runner, and the names of what is shown."""
    row = statement_wire(statement)
    if isinstance(statement, Show):
        row["show"]["what"] = statement.what
    return row


def statement_of(row: Wire) -> Statement:
    """Return the statement of its JSON form in a report. Raises TypeError or ValueError for anything else."""
    try:
        ((name, value),) = row.items()
        return STATEMENTS[name].read(value)  # type: ignore[no-any-return]
    except (AttributeError, KeyError, TypeError, binascii.Error) as error:
        raise ValueError(f"{str(row)[:100]} is no statement: {error!r}") from error


def call_wire(call: Call) -> Wire:
    """Return the JSON form of a call."""
    fields = {name: _argument(each) for name, each in call.fields.items()}
    targets: Wire = {"targets": list(call.targets)} if call.targets else {}
    return {"template": call.template, "fields": fields, **targets, **({"unpack": True} if call.unpack else {})}


def call_of(row: Wire) -> Call:
    """Return the call of its JSON form."""
    fields = {name: _argument_of(each) for name, each in row["fields"].items()}
    return Call(_text(row["template"]), fields, _names(row.get("targets", ())), row.get("unpack", False))


def _argument(argument: Argument) -> Wire:
    name = ARGUMENT_NAMES[type(argument)]
    return {name: ARGUMENTS[name].write(argument)}


def _argument_of(row: Wire) -> Argument:
    ((name, value),) = row.items()
    return ARGUMENTS[name].read(value)  # type: ignore[no-any-return]


def _show_wire(show: Show) -> Wire:
    dtype = {} if show.dtype is None else {"dtype": call_wire(show.dtype)}
    flags = {name: True for name in ("optional", "timed") if getattr(show, name)}
    return {"call": call_wire(show.call), "form": show.form, **dtype, **flags}


def _show_of(row: Wire) -> Show:
    dtype = call_of(row["dtype"]) if "dtype" in row else None
    optional, timed = row.get("optional", False), row.get("timed", False)
    return Show(_text(row["what"]), call_of(row["call"]), row["form"], dtype, optional, timed)


def _function_wire(function: LocalFunction) -> Wire:
    lines, parameters = _lines(function.body), list(function.parameters)
    return {"name": function.name, "parameters": parameters, "body": lines, "result": function.result}


def _function_of(row: Wire) -> LocalFunction:
    return LocalFunction(_named(row["name"]), _names(row["parameters"]), _body(row["body"]), _named(row["result"]))


def _lines(body: Sequence[Statement]) -> list[Wire]:
    return list(map(statement_wire, body))


def _body(rows: Sequence[Wire]) -> tuple[Statement, ...]:
    return tuple(map(statement_of, rows))


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_named, names))


def _named(name: str) -> str:
    """Return a name. Raises ValueError for other text, which would become code."""
    if not name.isidentifier():
        raise ValueError(f"{name[:100]!r} is no name")
    return name


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:100]} is no text")
    return value


def value_wire(value: Any) -> Any:
    """Return the JSON form of a literal: floats as hexadecimal text, tuples and slices as objects."""
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, tuple | list):
        return {"tuple" if isinstance(value, tuple) else "list": [value_wire(item) for item in value]}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    return value


def constant_wire(constant: Constant) -> Wire:
    """Return the JSON form of an array: bytes in C order, little-endian, as base64; bfloat16 as float32."""
    return encoded(constant.to_numpy())


STATEMENTS: Final[Mapping[str, JsonForm]] = MappingProxyType({
    "call": JsonForm(Call, call_wire, call_of),
    "show": JsonForm(Show, _show_wire, _show_of),
    "function": JsonForm(LocalFunction, _function_wire, _function_of),
    "enter": JsonForm(Enter, lambda enter: call_wire(enter.region), lambda row: Enter(call_of(row))),
    "leave": JsonForm(Leave, lambda leave: {"by_error": leave.by_error}, lambda row: Leave(row["by_error"])),
    "delete": JsonForm(Delete, lambda delete: delete.name, lambda name: Delete(_named(name))),
    "code": JsonForm(Code, lambda code: code.text, lambda text: Code(_text(text))),
    "walk": JsonForm(
        Traversal,
        lambda traversal: {"parents": traversal.parents, "nodes": dict(traversal.nodes)},
        lambda row: Traversal(_text(row["parents"]), {name: _named(each) for name, each in row["nodes"].items()}),
    ),
    "attempt": JsonForm(Attempt, lambda attempt: _lines(attempt.body), lambda rows: Attempt(_body(rows))),
})
"""Form of each kind of statement in JSON: an object whose only member has the name of the kind."""

ARGUMENTS: Final[Mapping[str, JsonForm]] = MappingProxyType({
    "name": JsonForm(Name, lambda variable: variable.name, lambda name: Name(_named(name))),
    "names": JsonForm(Names, lambda variables: list(variables.names), lambda names: Names(_names(names))),
    "value": JsonForm(Value, lambda argument: value_wire(argument.value), lambda value: Value(literal(value))),
    "array": JsonForm(
        Constant,
        constant_wire,
        lambda row: Constant(row["dtype"], tuple(row["shape"]), b64decode(row["data"], validate=True)),
    ),
    "call": JsonForm(Call, call_wire, call_of),
    "lambda": JsonForm(
        Lambda,
        lambda function: {"parameters": list(function.parameters), "body": call_wire(function.body)},
        lambda row: Lambda(_names(row["parameters"]), call_of(row["body"])),
    ),
})
"""Forms of arguments. An :class:`Expression` has none, since it can only be part of code."""

STATEMENT_NAMES, ARGUMENT_NAMES = (
    {form.kind: name for name, form in forms.items()} for forms in (STATEMENTS, ARGUMENTS)
)
