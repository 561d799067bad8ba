"""The step, one action of a scenario, and its form: one line that defines the text and the JSON of its kind.

    backward OUTPUT [seed SEED] [retain_graph]
    NAME = leaf VALUE [requires_grad]
    hook NAME on TENSOR [scale FACTOR | observe]

Words are literal. A field is in capitals; its codec defines the text of its value. A part in brackets is optional: if
it is left out, its field has the value ``absent`` of the codec, and the line has the words after `|`. A part in
brackets without capitals is a flag, named by its words: [by error] is the flag ``by_error``. The field before `=` is
the name of the tensor that the step creates.

In JSON the fields are members in the order of the form. The member "step" comes before them. It consists of the first
words of the form: "zero_grad" for `zero grad NAME [to zeros]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from operator import eq
from typing import Any, ClassVar, Final, Self

from refgrad.scenario.codecs import FLAG, NEW_TENSOR, Codec, Scope, no_names, no_rule
from refgrad.scenario.errors import check_type
from refgrad.scenario.tokens import Cursor, tokenize

_PART: Final = re.compile(r"\[[^]]+\]|[^][A-Z]*[A-Z]+|[^][A-Z]+")


@dataclass(frozen=True, slots=True)
class FormPart:
    """Words and the field that follows them. A part may have only words, or only a field."""

    prefix: str
    words: tuple[str, ...]
    field: str
    codec: Codec
    optional: bool
    otherwise: str

    @classmethod
    def of(cls, text: str, codecs: Mapping[str, Codec]) -> Self:
        """Return the part that a piece of a form describes."""
        present, _, otherwise = text.strip("[] ").partition(" | ")
        prefix = present.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        words = tuple(tokenize(prefix))
        optional = text.startswith("[")
        if prefix != present:
            field = present.removeprefix(prefix).lower()
            return cls(prefix, words, field, codecs[field], optional, otherwise)
        flag = "_".join(words) if optional else ""
        return cls(prefix, words, flag, codecs.get(flag, FLAG), optional, otherwise)

    def write(self, step: object) -> str:
        """Return the text of this part in the line of a step."""
        if not self.field:
            return self.prefix
        value = getattr(step, self.field)
        if self.optional and value is self.codec.absent:
            return self.otherwise
        return self.prefix + self.codec.write(value)

    def read(self, cursor: Cursor) -> dict[str, Any]:
        """Read the text that `write` returns, and return the field with its value."""
        if self.optional and cursor.peek() != self.words[0]:
            if self.otherwise:
                cursor.expect(self.words[0], self.otherwise)
            return {self.field: self.codec.absent}
        for word in self.words:
            cursor.expect(word)
        return {self.field: self.codec.read(cursor)} if self.field else {}


@dataclass(frozen=True)
class Form:
    """The properties that all steps of one kind share."""

    tag: str
    """Member "step" of the JSON form."""
    keyword: str
    """Word that begins the line, or that follows `NAME =` where the step assigns; "" for any other word there."""
    target: str
    """Field before `=`, or "" for a step that creates no tensor."""
    parts: tuple[FormPart, ...]
    fields: Mapping[str, Codec]
    """Codec of every field, in order."""

    @classmethod
    def of(cls, text: str, tag: str = "", **codecs: Codec) -> Self:
        """Return the form that a line describes, with the codecs of its fields.

        ``tag`` is needed where the form has no words of its own; flags, and the name before `=`, need no codec.
        """
        before, _, rest = text.rpartition(" = ")
        target = before.lower()
        codecs |= {target: NEW_TENSOR} if target else {}
        words = list(takewhile(str.isidentifier, takewhile(str.islower, rest.split())))
        parts = tuple(FormPart.of(piece, codecs) for piece in _PART.findall(text) if not piece.isspace())
        fields = {part.field: part.codec for part in parts if part.field}
        return cls(tag or "_".join(words), "".join(words[:1]), target, parts, fields)

    @cached_property
    def checks(self) -> tuple[tuple[str, tuple[type, ...], Callable[[Any], Any]], ...]:
        """Fields, each with the types that it may have and the function that validates and converts its value."""
        return tuple((field, codec.types, codec.kept) for field, codec in self.fields.items())

    @cached_property
    def users(self) -> tuple[tuple[str, Callable[[Any], Sequence[str]]], ...]:
        """Fields that use tensors, each with the function that returns their names."""
        return tuple((field, codec.uses) for field, codec in self.fields.items() if codec.uses is not no_names)

    @cached_property
    def rules(self) -> tuple[tuple[str, Callable[[Scope, Any], None]], ...]:
        """Fields that have a rule, each with the rule, then those that define a name."""
        checks = [(field, codec.check) for field, codec in self.fields.items()]
        checks += [(field, codec.define) for field, codec in self.fields.items()]
        return tuple((field, rule) for field, rule in checks if rule is not no_rule)

    def write(self, step: object) -> str:
        """Return the line of a step, without a newline."""
        return " ".join(filter(None, (part.write(step) for part in self.parts)))

    def read(self, cursor: Cursor) -> dict[str, Any]:
        """Read the whole line that `write` returns, and return the fields."""
        values: dict[str, Any] = {}
        for part in self.parts:
            values |= part.read(cursor)
        return values

    def encode(self, step: object) -> dict[str, Any]:
        """Return the members of a step."""
        members: dict[str, Any] = {}
        for field, codec in self.fields.items():
            value = getattr(step, field)
            if codec.required or value is not codec.absent:
                encoded = codec.encode(value)
                members |= encoded if codec.spread else {field: encoded}
        return members

    def decode(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields for the members that `encode` returns, which must satisfy the schema."""
        values: dict[str, Any] = {}
        for field, codec in self.fields.items():
            if codec.spread:
                values[field] = codec.decode(members)
            else:
                values[field] = codec.decode(members[field]) if field in members else codec.absent
        return values


class Step:
    """One action of a scenario: a frozen dataclass that validates its fields, with a text and a JSON form.

    A kind of step is a subclass listed in `refgrad.scenario.kinds.STEPS`, whose ``form`` defines the text of its
    fields. A subclass overrides :meth:`check` if it is valid only under further conditions than the names that it uses,
    or if it changes the scope by more than a name.
    """

    __slots__ = ()

    form: ClassVar[Form]
    stateful: ClassVar[bool] = False
    """True for a :class:`StatefulStep`."""

    def __post_init__(self) -> None:
        """Validate the fields one by one."""
        for field, types, keep in self.form.checks:
            value = getattr(self, field)
            if types and type(value) not in types:
                check_type(field, value, *types)
            kept = keep(value)
            if kept is not value:
                object.__setattr__(self, field, kept)

    @property
    def defines(self) -> str | None:
        """Name of the tensor that the step creates, or None."""
        return getattr(self, self.form.target) if self.form.target else None

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the tensors that must exist already, in the order of the text."""
        return tuple(name for field, used in self.form.users for name in used(getattr(self, field)))

    def check(self, scope: Scope) -> None:
        """Add the step to a scope. Raises ScenarioError if it is not valid there."""
        for name in self.uses:
            scope.use(name)
        for field, rule in self.form.rules:
            rule(scope, getattr(self, field))

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the step with tensors and hooks renamed. Names that are not in ``names`` stay."""
        if all(map(eq, names, names.values())):
            return self
        fields = {field: codec.renamed(getattr(self, field), names) for field, codec in self.form.fields.items()}
        return type(self)(**fields)

    def to_text(self) -> str:
        """Return the canonical line, without a newline."""
        return self.form.write(self)

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read the whole line that `to_text` returns."""
        return cls(**cls.form.read(cursor))

    def to_json(self) -> dict[str, Any]:
        """Return the members of the JSON form except "step"."""
        return self.form.encode(self)

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Return the step for the members that `to_json` returns, which must satisfy the schema."""
        return cls(**cls.form.decode(members))


class StatefulStep(Step):
    """A step that changes the value of a name, or how later steps are recorded and differentiated."""

    __slots__ = ()

    stateful = True
