"""Values for the fields of a first adapter: those that the user gives, and candidates that are tried.

Candidates are how libraries spell what an adapter needs, the most likely first; `{m}` is a module of the library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from refgrad.documents import parsed_toml
from refgrad.errors import UserError, suggestion
from refgrad.native.adapter import family_rows
from refgrad.native.adapter.adapter import KINDS, AnyAdapter
from refgrad.native.adapter.fields import rows
from refgrad.native.adapter.files import ALIKE
from refgrad.operators import Operator, operator_table

Report = Callable[[str], None]
"""Function that receives progress messages."""

Ask = Callable[[str, str | None], str]
"""Function that receives a field and the value found for it, and returns the value to use."""

OPERATOR: Final = "operators."
"""Prefix of the name of an operator whose spelling is given."""

KNOWN: Final[Mapping[str, Any]] = MappingProxyType(parsed_toml(Path(__file__).with_name("candidates.toml")))
"""How libraries spell what an adapter needs: names and templates by what they are for, the most likely first."""

DIRECTIONS: Final[Mapping[str, str]] = KNOWN["directions"]
"""Further advice for fields for which no value is found."""

OTHER_LANGUAGES: Final[str] = KNOWN["other_languages"]

REFUSED: Final[Mapping[str, str]] = {"language": OTHER_LANGUAGES, **KNOWN["refused"]}
"""Fields of adapters that cannot be given in this way, each with the reason or with the right way."""


def checked_modules(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of modules. Raises UserError for a name that Python cannot import."""
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise UserError(f"{name!r} is not the name of a module, as `import` has it; {OTHER_LANGUAGES}")
    return tuple(names)


@dataclass(frozen=True, slots=True)
class Asking:
    """The fields that are given, and the function that asks for the others."""

    ask: Ask
    options: Mapping[str, str]
    report: Report = lambda _: None
    """Function that receives progress messages before slow trials."""

    def chosen(self, field: str, proposed: str | None) -> str:
        """Return the value of a field: the given one, or else the answer of ``ask``."""
        return self.options[field] if field in self.options else self.ask(field, proposed)

    def among(self, field: str, candidates: Iterable[str]) -> list[str]:
        """Return the candidates for a field, or only the given value."""
        return [self.options[field]] if field in self.options else list(candidates)

    @property
    def operators(self) -> dict[str, list[str]]:
        """Spellings that are given, by operator."""
        named = {field: text for field, text in self.options.items() if field.startswith(OPERATOR)}
        return {field.removeprefix(OPERATOR): [text] for field, text in named.items()}

    def templates(self, kind: type[AnyAdapter]) -> dict[str, Any]:
        """Return the templates that are given. Raises UserError for one that this kind of adapter does not have."""
        templates = {field: text for field, text in self.options.items() if field in _templates(KINDS.values())}
        for field in templates.keys() - set(_templates([kind])):
            name = next(name for name, each in KINDS.items() if each is kind)
            raise UserError(f"{field!r} is given, which an adapter of the kind {name!r} does not have")
        return templates


def read_options(texts: Sequence[str]) -> dict[str, str]:
    """Return the fields that texts of the form FIELD=TEMPLATE give. Raises UserError for a text that is invalid."""
    pairs = [text.partition("=") for text in texts]
    for field, equals, _ in pairs:
        if not equals:
            raise UserError(f"--set {field}: write FIELD=TEMPLATE")
        if problem := _refused(field.strip()):
            raise UserError(f"--set {field.strip()}: {problem}")
    options = {field.strip(): template.strip() for field, _, template in pairs}
    if options.get("kind", "tape") not in KINDS:
        raise UserError(f"--set kind={options['kind']}: write {' or '.join(KINDS)}")
    return options


def _refused(field: str) -> str:
    """Return the reason why a field cannot be given, or an empty string."""
    known, operators = ["kind", "setup", *_templates(KINDS.values())], operator_table()
    if field in known:
        return ""
    if field.startswith(OPERATOR):
        name = field.removeprefix(OPERATOR)
        return "" if name in operators else f"the table has no operator {name!r}{suggestion(name, operators)}"
    if field in REFUSED:
        return REFUSED[field]
    if field in operators:
        return f"there is no such field, did you mean '{OPERATOR}{field}'?"
    if any(field in rows(kind) for kind in KINDS.values()):
        return "this is no template: write it into the file afterwards"
    return f"there is no such field{suggestion(field, known) or ';'} there are: {', '.join(known)}, {OPERATOR}NAME"


def _templates(kinds: Iterable[type[AnyAdapter]]) -> list[str]:
    """Return the fields that hold one code template each."""
    fields = [name for kind in kinds for name, row in rows(kind).items() if row.placeholders is not None]
    written = {name for kind in KINDS.values() for name, row in rows(kind).items() if row.writes}
    return [name for name in dict.fromkeys(fields) if name not in written]


PLAIN_LEAF: Final = "{array}"
"""Template of a leaf of libraries that differentiate functions of NumPy arrays."""


NOT_SUPPORTED: Final = "exec('raise NotImplementedError')"
"""Expression in place of a call with attributes that a function does not take."""


def with_module(texts: Iterable[str], modules: Sequence[str]) -> list[str]:
    """Return the texts with each of the modules in place of `{m}`."""
    return list(dict.fromkeys(text.replace("{m}", module) for text, module in product(texts, modules)))


def leaves(members: Mapping[str, Iterable[str]], classes: Mapping[str, Iterable[str]]) -> list[str]:
    """Return templates that make a leaf by the makers, or else the classes, of each module. Plain arrays come last."""
    usual = [(module, name) for module, names in members.items() for name in KNOWN["makers"] if name in names]
    makers = usual or [(module, name) for module, names in classes.items() for name in names]
    templates = [
        f"{module}.{name}({text})".replace("{m}", module) for text in KNOWN["arguments"] for module, name in makers
    ]
    return [*templates, PLAIN_LEAF]


def gradients(value: str, attributes: Iterable[str] = ()) -> list[str]:
    """Return templates that read the gradient of a leaf.

    ``value`` is the template that reads a tensor, and ``attributes`` are those that a tensor has.
    """
    own = list(dict.fromkeys([*KNOWN["gradient"], *(f"{{leaf}}.{name}" for name in attributes)]))
    read = [f"None if {text} is None else {value.replace('{x}', text)}" for text in own]
    return [*own, *read, *(f"{text}.data" for text in own)]


def resets(gradient: str) -> list[str]:
    """Return templates that reset a gradient, given the template that reads it."""
    name = re.search(r"\{leaf\}\.(\w+)", gradient)
    return [
        text.replace("grad'", f"{name[1]}'").replace(".grad)", f".{name[1]})") if name else text
        for text in KNOWN["zero_grad"]
    ]


def backwards(called: Iterable[str]) -> list[str]:
    """Return templates that run a backward by these methods of an output and functions of modules."""
    owned = [(f"{name}(", "{output}.backward(" if name[0] == "{" else "{m}.backward(") for name in called]
    return [text.replace(usual, name) for name, usual in owned for text in KNOWN["backward"] if usual in text]


def retaining(backward: str, keyword: str) -> tuple[str, str]:
    """Return two spellings of a backward: with the keyword true if the graph is to be retained, and with it false."""
    head = f"{backward[:-1]}{'' if backward.endswith('()') else ', '}{keyword}="
    return f"{head}{{retain_graph}})", f"{head}not {{retain_graph}})"


def spellings_of(operator: Operator, modules: Sequence[str]) -> Iterator[str]:
    """Yield candidate spellings of an operator: its names in a module, rows of families, and its names as a method."""
    names = (operator.name, *operator.aliases)
    for module in modules:
        yield from (text for name in names for text in _calls(f"{module}.{name}", operator, ()))
    for family in (*KNOWN["families"], "torch-like"):
        rows = family_rows(family).get(operator.name, ())
        yield from (text.replace("{np}", modules[0]).replace("{torch}", modules[0]) for text in rows if text != ALIKE)
    first, *others = operator.arguments
    if not first.variadic and not others:
        methods = (f"{{{first.name}}}.{name}" for name in names)
        yield from (text for method in methods for text in _calls(method, operator, (first.name,)))


def owner_of(text: str) -> tuple[str, str]:
    """Return the owner and the name of the function that a spelling calls.

    The owner is a module or a placeholder. If no named function is called, both are empty strings.
    """
    owner, dot, name = text.partition("(")[0].rpartition(".")
    return (owner, name) if dot and name.isidentifier() else ("", "")


def _calls(function: str, operator: Operator, without: Sequence[str]) -> Iterator[str]:
    """Yield calls with all attributes or the first few, by the table's names, by PyTorch's names and by position."""
    operands = [f"{{{name}}}" for name in operator.argument_names if name not in without]
    attributes = operator.attribute_names
    forms = (
        [f"{name}={{{name}}}" for name in attributes],
        [f"{KNOWN['renamed'].get(name, name)}={{{name}}}" for name in attributes],
        [f"{{{name}}}" for name in attributes],
    )
    yield from dict.fromkeys(f"{function}({', '.join([*operands, *form])})" for form in forms)
    if any(attribute.required for attribute in operator.attributes):
        return
    usual = [repr(value) for value in operator.bind({}).values()]
    for count in reversed(range(len(attributes))):
        is_usual = f"({', '.join(forms[2][count:])}) == ({', '.join(usual[count:])})"
        called = dict.fromkeys(f"{function}({', '.join([*operands, *form[:count]])})" for form in forms)
        yield from (f"{call} if {is_usual} else {NOT_SUPPORTED}" for call in called)
