"""Values of the fields of a first adapter that the user gives in advance, or is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from refgrad.errors import UserError, suggestion
from refgrad.native.adapter.fields import rows
from refgrad.native.adapter.kinds import KINDS, AnyAdapter
from refgrad.operators import operator_table

Report = Callable[[str], None]
"""Function that receives progress messages."""

Ask = Callable[[str, str | None], str]
"""Function that receives a field and the value found for it, and returns the value to use."""

OPERATOR: Final = "operators."
"""Prefix of the name of an operator whose spelling is given."""

GUIDE: Final = "docs/how-to/plug-in-an-engine.md"

DIRECTIONS: Final[Mapping[str, str]] = MappingProxyType({
    "kind": "a library that has neither a backward nor a pullback needs a function `vjp` of yours, as "
    f"'Engines without a tape' in {GUIDE} shows; "
})
"""Further advice for fields for which no value is found."""

OTHER_LANGUAGES: Final = (
    "`refgrad new` is for libraries in Python; the adapter of one in JavaScript or another language is written by "
    f"hand, as 'Engines in other languages' in {GUIDE} shows"
)

REFUSED: Final[Mapping[str, str]] = MappingProxyType({
    "language": OTHER_LANGUAGES,
    "operators": f"give each operator by itself, as --set '{OPERATOR}NAME=TEMPLATE'",
})
"""Fields of adapters that cannot be given in this way, each with the reason or with the right way."""


def _discard(text: str) -> None:
    """Discard progress messages."""


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
    report: Report = _discard
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
