"""What refgrad knows of a language of programs, and code templates in it.

``torch.sum({x}, dim={axis})`` is run with the placeholders as parameters and printed with the placeholders filled in,
so that a reproduction shows what was executed.
"""

from __future__ import annotations

import re
import string
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from string import Formatter
from textwrap import indent
from types import MappingProxyType
from typing import ClassVar, Final

from refgrad.documents import LONGEST_PROBLEM
from refgrad.native import runners, statements
from refgrad.native.statements import Argument, Call, LocalFunction, Name, Names, Show, Statement, Value
from refgrad.scenario import Constant


class TemplateError(ValueError):
    """Raised if a template of an adapter is malformed. The message shows the template and says what is wrong."""


@dataclass(frozen=True)
class Template:
    """An expression with placeholders in braces."""

    text: str

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The placeholders, each once, in order of appearance.

        Raises TemplateError for a template that is too long, for braces that do not match, and for a placeholder that
        is not a name. Conversions and formats are not allowed: a format could fill memory, and languages other than
        Python have neither.
        """
        if len(self.text) > statements.LONGEST_TEMPLATE:
            start = self.text[:LONGEST_PROBLEM]
            raise TemplateError(f"template {start!r}...: it has more than {statements.LONGEST_TEMPLATE:,} characters")
        try:
            parsed = [part for part in string.Formatter().parse(self.text) if part[1] is not None]
        except ValueError as error:
            raise TemplateError(f"template {self.text!r}: {error}") from error
        for _, name, form, conversion in parsed:
            if not name or not name.isidentifier() or form or conversion:
                written = f"{name}{'!' * bool(conversion)}{conversion or ''}{':' * bool(form)}{form}"
                raise TemplateError(f"template {self.text!r}: the placeholder {{{written}}} is not a name")
        return tuple(dict.fromkeys(name for _, name, _, _ in parsed if name))


ATOM_BEFORE = re.compile(r"(^|[(\[,=:]\s*)$")
ATOM_AFTER = re.compile(r"^\s*($|[)\],:])")

PART: Final = re.compile(r"(?<=\n)(?=import |using |#include )|(?<=\n\n)(?=\S)")
"""Beginning of a part of a setup: a line that is not indented, after an empty one, or an import."""

PRINTS_VERSION: Final = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
"""Program of Python that prints the version of an installed package, whose name is its argument."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language: how its runner is started, how statements are printed, and the templates of a scenario's program.

    With ``dtypes``, programs print the dtypes of results too, if the language supports it. The defaults are those of
    most languages; the module of each language holds what differs.
    """

    dtypes: bool = False

    name: ClassVar[str]
    """Name in engine files."""
    runner: ClassVar[tuple[str, ...]] = ()
    """Command of the runner, in which ``{runners}`` is the folder of runners and ``{python}`` an interpreter."""
    runs_here: ClassVar[bool] = False
    """True if engines can run in the process of refgrad, and measurements, which are programs of Python, on them."""
    suffix: ClassVar[str]
    """Suffix of the files of standalone programs."""
    comment: ClassVar[str] = "//"
    """Beginning of a comment."""

    default_value: ClassVar[str] = "{x}"
    """Template of a tensor's array in adapters that have none."""
    pull: ClassVar[str] = "{pullback}({seed})"
    """Template of the cotangents that a pullback gives."""
    nests: ClassVar[bool] = True
    """True if an expression in parentheses can be part of another expression; otherwise none are written."""
    element: ClassVar[str] = "[{}]"
    """Element of a list: what is appended to the list, with the index in place of the braces."""
    first: ClassVar[int] = 0
    """Index of the first element of a list."""
    plus: ClassVar[str] = ""
    """Template by which the gradients of any engine can be added; empty if that is for the engine's ``add`` alone."""
    new_list: ClassVar[str] = ""
    """Template of an empty list of arrays; empty if the runner cannot show lists, so that hooks are not supported."""
    recording: ClassVar[str] = ""
    """Template in which a hook adds the array ``{value}`` to the list ``{seen}`` and returns nothing."""
    replacing: ClassVar[str] = ""
    """Template that does the same and returns ``{gradient}`` times ``{factor}``, which is also ``{product}``."""

    words: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Literals that differ from those of Python, by Python's."""
    end: ClassVar[str] = ";"
    """End of a statement."""
    binding: ClassVar[str]
    """Statement that binds a new variable ``{name}`` to ``{value}``."""
    deleting: ClassVar[str] = "// {name} is deleted"
    """Statement that deletes a variable, or a comment in languages that cannot delete one."""
    showing: ClassVar[str]
    """Line that prints ``{shown}``, with the comment ``{what}``."""
    handler: ClassVar[tuple[tuple[str, ...], tuple[str, ...]]] = ((), ())
    """Lines before and after lines whose exception is printed, after which the program continues."""
    unread: ClassVar[str] = ""
    """Target of a part of a result that is not read; empty if each part has to be bound to a variable."""
    unpacking: ClassVar[str] = ""
    """Targets of all parts of a result at once; empty if the parts are bound one by one."""
    list_form: ClassVar[str] = "[{}]"
    """Template of a list; its items replace the braces."""
    anonymous: ClassVar[str] = ""
    """Function of ``{parameters}`` that returns ``{body}``, the argument of a hook; empty if there are no hooks."""
    function_lines: ClassVar[tuple[tuple[str, ...], tuple[str, ...]]]
    """Lines before and after the body of the function ``{name}`` of ``{parameters}``, which returns ``{result}``."""
    taking: ClassVar[str] = ""
    """Line in the body that binds ``{parameter}`` to element ``{index}`` of ``primals``, if that is the parameter."""
    indentation: ClassVar[str] = "  "
    """Indentation of the body of a function."""

    standalone: ClassVar[tuple[str, ...]] = ()
    """Command that runs the program on its standard input and reports errors and printed values as data.

    ``{folder}`` is the folder of `refgrad.report`, ``{python}`` the interpreter of the engine, ``{own}`` that of
    refgrad, and ``{text}`` the source of ``standalone.py``.
    """
    definition: ClassVar[re.Pattern[str]] = re.compile(
        r"(?:import [\w.]+\.|(?:template <.*>\n)?(?:(?:inline|static|final|using|class|interface|struct) )*[\w:<>, ]*?)"
        r"(\w+)(?:;| =| \{|\()"
    )
    """Beginning of a part of a setup that defines one name, which is its group."""
    conditions: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Conditions on a variable ``got`` with the bounds ``{low}`` and ``{high}``, by the kind of condition."""
    assertion: ClassVar[tuple[str, ...]] = ()
    """Lines that bind ``got`` to ``{shown}`` and fail unless it meets a condition ``{test}``."""
    along: ClassVar[str] = "{shown} * {direction[0]}"
    """Directional derivative of a gradient ``{shown}`` along ``{direction}``, a list of numbers, here of one."""

    def command(self, python: str = sys.executable) -> list[str]:
        """Return the command that starts the runner; ``python`` is the interpreter for engines in Python."""
        return [part.format(python=python, runners=Path(runners.__file__).parent) for part in self.runner]

    def version(self, package: str, python: str) -> str:
        """Return the version of an engine's package, or ``unknown``: of the system's package, or else of Python's."""
        of_system = output_of("dpkg-query", "-Wf", "${Version}", package)
        return package_version(package, python) if of_system == "unknown" else of_system

    def check(self, template: Template) -> None:
        """Raise TemplateError where a template is not an expression of the language, if that can be seen at once."""

    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement. Raises TypeError where the runner does not support it.

        The beginning and the end of a region are not printed by this method.
        """
        match statement:
            case Call():
                yield from self.assigned(statement)
            case Show():
                yield self.showing.format(shown=self.called(statement.call), what=statement.what)
            case LocalFunction():
                yield from self.defined(statement)
            case statements.Delete(name=name):
                yield self.deleting.format(name=name)
            case _:
                raise TypeError(f"{type(statement).__name__} is no statement of the runner of {type(self).__name__}")

    def assigned(self, call: Call) -> Iterator[str]:
        """Yield the lines of a call that is assigned to its targets, one by one if they are parts of a list."""
        value = self.called(call)
        if not call.targets:
            yield value + self.end
        elif not call.unpack or self.unpacking:
            targets = ", ".join(call.targets)
            yield self.binding.format(name=self.unpacking.format(targets) if call.unpack else targets, value=value)
        else:
            whole = f"{'_and_'.join(call.targets)}_found"
            parts = zip(call.targets, self.parts(call), strict=False)
            for name, part in ((whole, value), *((target, whole + part) for target, part in parts)):
                yield self.binding.format(name=name, value=part)

    def parts(self, call: Call) -> Iterable[str]:
        """Return the suffixes that select each part of a call's result."""
        return map(self.element.format, range(self.first, self.first + len(call.targets)))

    def defined(self, function: LocalFunction) -> Iterator[str]:
        """Yield the lines of a function."""
        fields = {"name": function.name, "parameters": ", ".join(function.parameters), "result": function.result}
        before, after = self.function_lines
        body = [line for each in function.body for line in self.lines(each)]
        if self.taking:
            numbered = enumerate(function.parameters, self.first)
            body[:0] = (self.taking.format(parameter=name, index=index, **fields) for index, name in numbered)
        yield from (line.format(**fields) for line in before)
        yield from indented(body, self.indentation)
        yield from (line.format(**fields) for line in after)

    def literal(self, value: object) -> str:
        """Return a Python value as a literal of the language."""
        return self.words.get(repr(value), repr(value))

    def array(self, constant: Constant) -> str:
        """Return code for an array, exact to the last bit: nested lists, or the only entry of an array without axes."""
        return self.literal(constant.to_numpy().tolist())

    def listed(self, items: Sequence[str]) -> str:
        """Return a list of expressions."""
        return self.list_form.format(", ".join(items))

    def region(self, region: Call, inner: Iterable[str], *, by_error: bool) -> Iterator[str]:  # noqa: ARG002
        """Yield the lines of a region. If an exception ends it, ``by_error``, the lines catch the exception.

        Raises TypeError in a language whose runner has no regions.
        """
        raise TypeError(f"the runner of {type(self).__name__} has no region {self.called(region)}")

    def caught(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines inside a handler that prints their exception, after which the program continues."""
        before, after = self.handler
        yield from before
        yield from indented(lines)
        yield from after

    def whole(self, setup: str, body: str) -> str:
        """Return a complete program, with the parts of the adapter's setup that the program needs."""
        return f"{self.needed(setup, body).strip()}\n\n{body.strip()}\n"

    def needed(self, setup: str, body: str) -> str:
        """Return a setup without the parts that define one unused name."""
        parts = PART.split(f"{setup.strip()}\n")
        names = list(map(self.defines, parts))
        kept = [not name for name in names]
        for _ in parts:
            known = "\n".join([body, *(text for text, keep in zip(parts, kept, strict=True) if keep)])
            kept = [keep or bool(re.search(rf"\b{name}\b", known)) for keep, name in zip(kept, names, strict=True)]
        return "".join(text for text, keep in zip(parts, kept, strict=True) if keep)

    def defines(self, part: str) -> str:
        """Return the name that a part of a setup defines; empty if it is a comment or defines none or several."""
        match = None if part.startswith(self.comment) else self.definition.match(part)
        return "" if match is None else match[1]

    def called(self, call: Call) -> str:
        """Return a template with its fields filled in.

        An argument that is not an atom, such as ``-1``, is put in parentheses unless the template delimits it: a
        printed program must mean what was executed.
        """
        parts: list[str] = []
        for before, name, after in _parts(call.template):
            text = "" if name is None else self.argument(call.fields[name])
            apart = bool(ATOM_BEFORE.search(before)) and bool(ATOM_AFTER.search(after))
            loose = self.nests and name is not None and not apart and not _is_atom(call.fields[name], text)
            parts += [before, f"({text})" if loose else text]
        return "".join(parts)

    def argument(self, argument: Argument) -> str:  # noqa: PLR0911 (one return for each kind of argument)
        """Return the expression for an argument of a template."""
        match argument:
            case Name(name=name):
                return name
            case Names(names=names):
                return self.listed(names)
            case Value(value=value):
                return self.literal(value)
            case Constant():
                return self.array(argument)
            case Call():
                return self.called(argument)
            case statements.Expression(text=text):
                return text
            case statements.Lambda(parameters=parameters, body=body):
                if not self.anonymous:
                    raise TypeError(f"the runner of {type(self).__name__} has no function of {', '.join(parameters)}")
                return self.anonymous.format(parameters=", ".join(parameters), body=self.called(body))


def _parts(template: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield the literal text before each field, the field, and the literal text after it."""
    parsed = [(before, name) for before, name, _, _ in Formatter().parse(template)]
    for number, (before, name) in enumerate(parsed, 1):
        after = parsed[number][0] if number < len(parsed) else ""
        yield before, name, after


def _is_atom(argument: Argument, text: str) -> bool:
    """Return True if an expression can be an operand of any operator without parentheses."""
    if isinstance(argument, Name | Names | Constant | statements.Expression):
        return True
    return isinstance(argument, Value) and not text.startswith("-")


def literals(*texts: str) -> Mapping[str, str]:
    """Return the literals of None, True, False, NaN, infinity and minus infinity, by those of Python."""
    return MappingProxyType(dict(zip(("None", "True", "False", "nan", "inf", "-inf"), texts, strict=True)))


def comparisons(is_nan: str, absolute: str) -> Mapping[str, str]:
    """Return conditions on ``got`` in a language in which functions have these names."""
    return MappingProxyType({
        "nan": f"{is_nan}(got)",
        "same": "got == {low}",
        "between": "{low} <= got && got <= {high}",
        "inside": "{low} < got && got < {high}",
        "small": f"{absolute}(got) < {{high}}",
        "close": f"{absolute}(got - {{low}}) <= {{high}} * {absolute}({{low}})",
        "near": f"{absolute}(got - {{low}}) < {{high}}",
    })


def indented(lines: Iterable[str], by: str = "    ") -> list[str]:
    """Return lines indented further. Empty lines stay empty."""
    return [indent(line, by) for line in lines]


def package_version(package: str, python: str = sys.executable) -> str:
    """Return the version of a package of Python that is installed for an interpreter, or ``unknown``."""
    if python != sys.executable:
        return output_of(python, "-c", PRINTS_VERSION, package)
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


@cache
def output_of(*command: str) -> str:
    """Return the output of a command, or ``unknown`` if it fails or prints nothing."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)  # noqa: S603 (of a language)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return ran.stdout.strip() or "unknown"
