"""Languages of programs: how each prints variables, literals, functions, regions and looks."""

from __future__ import annotations

import ast
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from string import Formatter
from textwrap import indent
from types import MappingProxyType

import numpy as np

from refgrad.native.statements import (
    Argument,
    Call,
    Code,
    Delete,
    Enter,
    Expression,
    Function,
    Lambda,
    Leave,
    Name,
    Names,
    Show,
    Statement,
    Value,
    Walk,
)
from refgrad.scenario import Constant

ATOM_BEFORE = re.compile(r"(^|[(\[,=:]\s*)$")
DEFINED = re.compile(r"(function|class) (\w+)")
ATOM_BEHIND = re.compile(r"^\s*($|[)\],:])")


@dataclass(frozen=True, slots=True)
class Language(ABC):
    """Prints statements; ``dtypes`` has looks show dtypes beside numbers, as far as the language can."""

    dtypes: bool = False

    @abstractmethod
    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement; regions are the business of whoever lays out the program."""

    @abstractmethod
    def literal(self, value: object) -> str:
        """Return a value as the language spells it."""

    @abstractmethod
    def array(self, constant: Constant) -> str:
        """Return code for an array, exact to the last bit."""

    @abstractmethod
    def function(self, parameters: str, body: str) -> str:
        """Return a function without a name."""

    @abstractmethod
    def region(self, region: Call, inner: Iterable[str], *, by_error: bool) -> Iterator[str]:
        """Yield the lines of a region, and of what catches the exception that ends it."""

    @abstractmethod
    def caught(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines whose exception is printed and does not end the program."""

    @abstractmethod
    def whole(self, setup: str, body: str) -> str:
        """Return a program with what it needs of an adapter's setup."""

    def called(self, call: Call) -> str:
        """Return a template with its fields filled in.

        What is no atom, such as ``-1``, stands in parentheses unless the template sets it apart: a program that is
        printed must mean what was executed.
        """
        parts: list[str] = []
        for before, name, behind in _parts(call.template):
            text = "" if name is None else self.argument(call.fields[name])
            apart = bool(ATOM_BEFORE.search(before)) and bool(ATOM_BEHIND.search(behind))
            loose = name is not None and not apart and not _is_atom(call.fields[name], text)
            parts += [before, f"({text})" if loose else text]
        return "".join(parts)

    def argument(self, argument: Argument) -> str:  # noqa: PLR0911 (one return for each kind of argument)
        """Return the expression that stands in a field."""
        match argument:
            case Name(name=name):
                return name
            case Names(names=names):
                return f"[{', '.join(names)}]"
            case Value(value=value):
                return self.literal(value)
            case Constant():
                return self.array(argument)
            case Call():
                return self.called(argument)
            case Expression(text=text):
                return text
            case Lambda(parameters=parameters, body=body):
                return self.function(", ".join(parameters), self.called(body))


@dataclass(frozen=True, slots=True)
class Python(Language):
    """Prints statements as Python."""

    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement; regions are the business of whoever lays out the program."""
        match statement:
            case Call():
                yield self.assigned(statement)
            case Show():
                yield f"print({', '.join(self.looks(statement))})  # {statement.what}"
            case Function():
                yield from self.defined(statement)
            case Delete(name=name):
                yield f"del {name}"
            case Code(text=text):
                yield from text.splitlines()
            case Walk():
                yield from self.walked(statement)
            case Enter() | Leave():
                raise TypeError("a region is laid out with the steps inside of it")

    def assigned(self, call: Call) -> str:
        """Return a call with what takes its result."""
        if not call.targets:
            return self.called(call)
        targets = ", ".join(call.targets)
        return f"{f'[{targets}]' if call.unpack and len(call.targets) == 1 else targets} = {self.called(call)}"

    def literal(self, value: object) -> str:
        """Return a value of Python; numbers that are not finite have no literal of their own."""
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        return repr(value)

    def function(self, parameters: str, body: str) -> str:
        """Return a function without a name."""
        return f"lambda {parameters}: {body}"

    def array(self, constant: Constant) -> str:
        """Return numpy code for an array, exact to the last bit (NaN's payload excepted)."""
        array = constant.to_numpy()
        dtype = "" if array.dtype in (np.float64, np.bool_) else f", dtype=np.{array.dtype}"
        if array.size == 0:
            return f"np.zeros({array.shape}{dtype or (', dtype=bool' if array.dtype == np.bool_ else '')})"
        text = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
        return f"np.array({text}{dtype})"

    def looks(self, show: Show) -> Iterator[str]:
        """Yield what is printed of a look."""
        yield self.called(show.call)
        if self.dtypes and show.form == "array" and show.call.fields:
            shown = Call("np.asarray({shown}).dtype", {"shown": show.call}) if show.dtype is None else show.dtype
            yield self.called(shown)

    def walked(self, walk: Walk) -> Iterator[str]:
        """Yield the lines that print where each node leads, by the names of those that have one."""
        nodes = ", ".join(f"{name!r}: {variable}" for name, variable in walk.nodes.items())
        yield f"nodes = {{{nodes}}}"
        yield "names = {id(node): name for name, node in nodes.items()}"
        yield "for name, node in nodes.items():"
        yield f"    parents = {self.called(Call(walk.parents, {'node': Name('node')}))}"
        yield "    print(name, [names.get(id(parent), parent) for parent in parents])"

    def defined(self, function: Function) -> Iterator[str]:
        """Yield the lines of a function, with a blank line on either side."""
        yield ""
        yield f"def {function.name}({', '.join(function.parameters)}):"
        for statement in function.body:
            yield from (f"    {line}".rstrip() for line in self.lines(statement))
        yield f"    return {function.result}"
        yield ""

    def region(self, region: Call, inner: Iterable[str], *, by_error: bool) -> Iterator[str]:
        """Yield the lines of a region, and of what catches the exception that ends it."""
        body = list(inner) + (['raise KeyError("left by error")'] if by_error else [])
        lines = [f"with {self.called(region)}:", *_indented(body or ["pass"])]
        yield from ["try:", *_indented(lines), "except KeyError:", "    pass"] if by_error else lines

    def caught(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines whose exception is printed and does not end the program."""
        yield "try:"
        yield from _indented(lines)
        yield "except Exception as error:"
        yield '    print(f"{type(error).__name__}: {error}")'

    def whole(self, setup: str, body: str) -> str:
        """Return a program with the imports, and those functions of the setup, that it needs."""
        head = _needed(setup, body)
        imports = "" if re.search(r"\bas np$", head, re.MULTILINE) else "import numpy as np\n"
        return re.sub(r"\n{4,}", "\n\n\n", f"{imports}{head}\n\n{body.strip()}\n")


def _parts(template: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield the literal text before each field, the field, and the literal text behind it."""
    parsed = [(before, name) for before, name, _, _ in Formatter().parse(template)]
    for place, (before, name) in enumerate(parsed):
        behind = parsed[place + 1][0] if place + 1 < len(parsed) else ""
        yield before, name, behind


def _is_atom(argument: Argument, text: str) -> bool:
    """Whether an expression can stand beside any operator."""
    if isinstance(argument, Name | Names | Constant | Expression):
        return True
    return isinstance(argument, Value) and not text.startswith("-")


def _indented(lines: Iterable[str]) -> list[str]:
    return [indent(line, "    ") for line in lines]


def _needed(setup: str, body: str) -> str:
    """Return an adapter's setup without the functions that neither the program nor another needed function calls."""
    statements = ast.parse(setup).body
    lines = setup.splitlines()
    texts = ["\n".join(lines[s.lineno - 1 : s.end_lineno]) for s in statements]
    kept = [not isinstance(statement, ast.FunctionDef) for statement in statements]
    for _ in statements:
        known = "\n".join([body, *(text for text, keep in zip(texts, kept, strict=True) if keep)])
        for i, statement in enumerate(statements):
            kept[i] = kept[i] or (
                isinstance(statement, ast.FunctionDef) and bool(re.search(rf"\b{statement.name}\b", known))
            )
    parts = []
    for statement, text, keep in zip(statements, texts, kept, strict=True):
        if keep:
            parts.append(f"\n{text}\n" if isinstance(statement, ast.FunctionDef) else text)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip()


def _needed_paragraphs(setup: str, body: str) -> str:
    """Return a setup without the paragraphs that define a function, or a class, which nothing uses."""
    paragraphs = setup.strip().split("\n\n")
    names = [found[2] if (found := DEFINED.match(text)) else "" for text in paragraphs]
    kept = [not name for name in names]
    for _ in paragraphs:
        known = "\n".join([body, *(text for text, keep in zip(paragraphs, kept, strict=True) if keep)])
        kept = [keep or bool(re.search(rf"\b{name}\b", known)) for keep, name in zip(kept, names, strict=True)]
    return "\n\n".join(text for text, keep in zip(paragraphs, kept, strict=True) if keep)


@dataclass(frozen=True, slots=True)
class JavaScript(Language):
    """Prints statements as JavaScript, as far as its runner has them."""

    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement."""
        match statement:
            case Call():
                yield self.assigned(statement)
            case Show():
                yield f"console.log({self.called(statement.call)}); // {statement.what}"
            case Function():
                yield f"const {statement.name} = ({', '.join(statement.parameters)}) => {{"
                for each in statement.body:
                    yield from (f"  {line}" for line in self.lines(each))
                yield from (f"  return {statement.result};", "};")
            case _:
                raise TypeError(f"{type(statement).__name__} is no statement of the runner of JavaScript")

    def assigned(self, call: Call) -> str:
        """Return a call with what takes its result."""
        if not call.targets:
            return f"{self.called(call)};"
        targets = f"[{', '.join(call.targets)}]" if call.unpack else call.targets[0]
        return f"var {targets} = {self.called(call)};"

    def function(self, parameters: str, body: str) -> str:
        """Return a function without a name."""
        return f"({parameters}) => {body}"

    def array(self, constant: Constant) -> str:
        """Return an array as nested lists of numbers."""
        return self.literal(constant.to_numpy().tolist())

    def literal(self, value: object) -> str:
        """Return a value of Python as JavaScript spells it."""
        if isinstance(value, slice):
            parts = (("start", value.start), ("stop", value.stop), ("step", value.step))
            return f"{{{', '.join(f'{name}: {self.literal(part)}' for name, part in parts)}}}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self.literal, value))}]"
        words = {"None": "null", "True": "true", "False": "false", "nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
        return words.get(repr(value), repr(value))

    def caught(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines whose exception is printed and does not end the program."""
        yield "try {"
        yield from _indented(lines)
        yield "} catch (error) { console.log(String(error)); }"

    def region(self, region: Call, inner: Iterable[str], *, by_error: bool) -> Iterator[str]:  # noqa: ARG002
        """Refuse a region: the runner of JavaScript has none."""
        raise TypeError(f"the runner of JavaScript has no region {self.called(region)}")

    def whole(self, setup: str, body: str) -> str:
        """Return a program behind those paragraphs of the adapter's setup that it needs."""
        return f"{_needed_paragraphs(setup, body)}\n\n{body.strip()}\n"


@dataclass(frozen=True, slots=True)
class Cpp(Language):
    """Prints statements as C++, as far as its runner has them."""

    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement."""
        match statement:
            case Call():
                yield from self.assigned(statement)
            case Show():
                yield f"std::cout << {self.called(statement.call)} << std::endl;  // {statement.what}"
            case Function():
                yield f"auto {statement.name} = [&](const std::vector<Tensor>& primals) -> Tensor {{"
                yield from (f"  Tensor {name} = primals[{i}];" for i, name in enumerate(statement.parameters))
                for each in statement.body:
                    yield from (f"  {line}" for line in self.lines(each))
                yield from (f"  return {statement.result};", "};")
            case _:
                raise TypeError(f"{type(statement).__name__} is no statement of the runner of C++")

    def assigned(self, call: Call) -> Iterator[str]:
        """Yield the lines of a call with what takes its result; the parts of a list are taken one by one."""
        if not call.targets:
            yield f"{self.called(call)};"
        elif not call.unpack:
            yield f"Tensor {call.targets[0]} = {self.called(call)};"
        elif "function" in call.fields:
            yield f"auto [{', '.join(call.targets)}] = {self.called(call)};"
        else:
            yield f"auto {'_and_'.join(call.targets)}_found = {self.called(call)};"
            for place, name in enumerate(call.targets):
                yield f"auto {name} = {'_and_'.join(call.targets)}_found[{place}];"

    def argument(self, argument: Argument) -> str:
        """Return the expression that stands in a field."""
        if isinstance(argument, Names):
            return f"{{{', '.join(argument.names)}}}"
        return Language.argument(self, argument)

    def function(self, parameters: str, body: str) -> str:
        """Return a function without a name."""
        return f"[&](auto {parameters}) {{ return {body}; }}"

    def array(self, constant: Constant) -> str:
        """Return the number of an array without axes."""
        return self.literal(constant.to_numpy().item())

    def literal(self, value: object) -> str:
        """Return a value of Python as C++ spells it."""
        words = {
            "None": "nullptr",
            "True": "true",
            "False": "false",
            "nan": "NAN",
            "inf": "INFINITY",
            "-inf": "-INFINITY",
        }
        return words.get(repr(value), repr(value))

    def caught(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines whose exception is printed and does not end the program."""
        yield "try {"
        yield from _indented(lines)
        yield "} catch (const std::exception& error) { std::cout << error.what() << std::endl; }"

    def region(self, region: Call, inner: Iterable[str], *, by_error: bool) -> Iterator[str]:  # noqa: ARG002
        """Refuse a region: the runner of C++ has none."""
        raise TypeError(f"the runner of C++ has no region {self.called(region)}")

    def whole(self, setup: str, body: str) -> str:
        """Return a program whose main function is behind the adapter's setup."""
        lines = ["std::cout.precision(17);", *body.strip().splitlines()]
        return "\n".join([setup.strip(), "", "int main() {", *(f"  {line}".rstrip() for line in lines), "}"]) + "\n"


LANGUAGES: Mapping[str, type[Language]] = MappingProxyType({"python": Python, "javascript": JavaScript, "cpp": Cpp})


def language_of(name: str, *, dtypes: bool = False) -> Language:
    """Return the language of an adapter; with ``dtypes`` looks show dtypes beside numbers."""
    return LANGUAGES[name](dtypes)
