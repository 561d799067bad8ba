"""What is said of the fields of a first adapter: given at once, or asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from refgrad.errors import UserError, suggestion
from refgrad.native.adapter.fields import rows
from refgrad.native.adapter.kinds import KINDS, AnyAdapter
from refgrad.operators import operator_table

Ask = Callable[[str, str | None], str]
"""Takes a field and what was found for it, and returns what it is to be."""

OPERATOR: Final = "operators."
"""What stands before the name of an operator whose spelling is given."""

GUIDE: Final = "docs/how-to/plug-in-an-engine.md"

DIRECTIONS: Final[Mapping[str, str]] = MappingProxyType({
    "kind": "a library that has neither a backward nor a pullback needs a function `vjp` of yours, as "
    f"'Engines without a tape' in {GUIDE} shows; "
})
"""What else is said where nothing is found for a field."""

OTHER_LANGUAGES: Final = (
    "`refgrad new` is for libraries in Python; the adapter of one in JavaScript or another language is written by "
    f"hand, as 'Engines in other languages' in {GUIDE} shows"
)

REFUSED: Final[Mapping[str, str]] = MappingProxyType({
    "language": OTHER_LANGUAGES,
    "operators": f"give each operator by itself, as --set '{OPERATOR}NAME=TEMPLATE'",
})
"""Fields of adapters that are given otherwise, or not at all."""


def _unheard(text: str) -> None:
    """Take what is told where nobody listens."""


def checked_modules(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of modules. Raises UserError for what Python can not import by that name."""
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise UserError(f"{name!r} is not the name of a module, as `import` has it; {OTHER_LANGUAGES}")
    return tuple(names)


@dataclass(frozen=True, slots=True)
class Asking:
    """What is given of the fields, and how the others are asked for."""

    ask: Ask
    given: Mapping[str, str]
    tell: Callable[[str], None] = _unheard
    """Takes what is tried next, of what takes a while."""

    def chosen(self, field: str, found: str | None) -> str:
        """Return what a field is to be."""
        return self.given[field] if field in self.given else self.ask(field, found)

    def among(self, field: str, candidates: Iterable[str]) -> list[str]:
        """Return what may stand in a field: one thing alone if that is given."""
        return [self.given[field]] if field in self.given else list(candidates)

    @property
    def operators(self) -> dict[str, list[str]]:
        """The spellings that are given."""
        named = {field: text for field, text in self.given.items() if field.startswith(OPERATOR)}
        return {field.removeprefix(OPERATOR): [text] for field, text in named.items()}

    def templates(self, kind: type[AnyAdapter]) -> dict[str, Any]:
        """Return the templates that are given. Raises UserError for one that this kind of adapter has not."""
        found = {field: text for field, text in self.given.items() if field in _templates(KINDS.values())}
        for field in found.keys() - set(_templates([kind])):
            name = next(name for name, each in KINDS.items() if each is kind)
            raise UserError(f"{field!r} is given, which an adapter of the kind {name!r} does not have")
        return found


def read_given(texts: Sequence[str]) -> dict[str, str]:
    """Return what texts of the form FIELD=TEMPLATE say. Raises UserError for a field that is none."""
    pairs = [text.partition("=") for text in texts]
    for field, equals, _ in pairs:
        if not equals:
            raise UserError(f"--set {field}: write FIELD=TEMPLATE")
        if problem := _refused(field.strip()):
            raise UserError(f"--set {field.strip()}: {problem}")
    given = {field.strip(): template.strip() for field, _, template in pairs}
    if given.get("kind", "tape") not in KINDS:
        raise UserError(f"--set kind={given['kind']}: write {' or '.join(KINDS)}")
    return given


def _refused(field: str) -> str:
    """Say why nothing can be said of a field; nothing of one of which it can."""
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
    found = [name for kind in kinds for name, row in rows(kind).items() if row.placeholders is not None]
    written = {name for kind in KINDS.values() for name, row in rows(kind).items() if row.writes}
    return [name for name in dict.fromkeys(found) if name not in written]
