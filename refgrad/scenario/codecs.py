"""Codecs: how one field of a step is validated, read from a line and written to it, converted to JSON, and renamed.

`specs/schema/scenario.schema.json` describes the JSON of every field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import NoneType
from typing import Any, Final, TypeAlias

from refgrad.errors import suggestion
from refgrad.operators import Operator
from refgrad.scenario.attributes import (
    AttributeValue,
    Slice,
    check_value,
    decode_value,
    encode_value,
    read_value,
    write_value,
)
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError, alternatives, check_type, quoted
from refgrad.scenario.tokens import Cursor, checked_identifier, read_float, write_float


class Scope:
    """The names that exist at one step of a scenario, the leaves among them that require grad, and the operators.

    ``functions`` holds the numbers of arguments of functions. Hooks have names too. ``constants`` are the values of
    leaves; ``depth`` counts the regions that were entered and not left. A method that raises ScenarioError has changed
    nothing.
    """

    __slots__ = ("constants", "deleted", "depth", "functions", "hooks", "leaves", "names", "operators")

    def __init__(self, operators: Mapping[str, Operator], functions: Mapping[str, int]) -> None:
        """Start without names."""
        self.operators, self.functions = operators, functions
        self.names: set[str] = set()
        self.leaves: set[str] = set()
        self.constants: dict[str, Constant] = {}
        self.hooks: set[str] = set()
        self.deleted: set[str] = set()
        self.depth = 0

    def define(self, name: str) -> None:
        """Add a name, which must be new."""
        self._refuse_known(name)
        self.names.add(name)

    def define_hook(self, name: str) -> None:
        """Add the name of a hook, which must be new."""
        self._refuse_known(name)
        self.hooks.add(name)

    def _refuse_known(self, name: str) -> None:
        if name in self.names or name in self.hooks or name in self.deleted:
            raise ScenarioError(f"{quoted(name)} is already defined")

    def delete(self, name: str) -> None:
        """Remove a name, which cannot be defined again."""
        self.use(name)
        self.names.remove(name)
        self.leaves.discard(name)
        self.deleted.add(name)

    def use(self, name: str) -> None:
        """Raise ScenarioError unless an earlier step defines the name and none has deleted it."""
        if name in self.deleted:
            raise ScenarioError(f"{quoted(name)} was deleted by an earlier step")
        if name not in self.names:
            raise ScenarioError(f"{quoted(name)} is not defined by an earlier step{suggestion(name, self.names)}")

    def require_leaf(self, name: str) -> None:
        """Raise ScenarioError unless the name is that of a leaf that requires grad."""
        if name not in self.leaves:
            raise ScenarioError(f"{quoted(name)} is not a leaf that requires grad")

    def use_hook(self, name: str) -> None:
        """Raise ScenarioError unless the name is that of a hook."""
        if name not in self.hooks:
            raise ScenarioError(f"{quoted(name)} is not a hook{suggestion(name, self.hooks)}")


Names: TypeAlias = Mapping[str, str]


def no_names(_value: Any) -> tuple[str, ...]:
    """Return no names."""
    return ()


def no_rule(_scope: Scope, _value: Any) -> None:
    """Accept every value."""


@dataclass(frozen=True, slots=True)
class Codec:
    """The codec of one kind of field. Its text and its JSON each represent all of a value."""

    read: Callable[[Cursor], Any]
    """Read the text of a value."""
    write: Callable[[Any], str] = str
    """Return the text of a value."""
    types: tuple[type, ...] = ()
    """Types that a value may have; empty where ``kept`` rejects values of other types."""
    kept: Callable[[Any], Any] = lambda value: value
    """Return the value that a step stores, or raise ScenarioError."""
    encode: Callable[[Any], Any] = lambda value: value
    """Return the JSON form of a value."""
    decode: Callable[[Any], Any] = lambda value: value
    """Read a JSON form that satisfies the schema."""
    uses: Callable[[Any], tuple[str, ...]] = no_names
    """Return the names of the tensors that a value refers to."""
    renamed: Callable[[Any, Names], Any] = lambda value, _names: value
    """Return a value with other names. Names that are not in the mapping stay."""
    check: Callable[[Scope, Any], None] = no_rule
    """Raise ScenarioError if a value is not valid in a scope in which the tensors that it uses exist."""
    define: Callable[[Scope, Any], None] = no_rule
    """Add the name that a value defines."""
    absent: Any = None
    """Value of a part of the line that is left out."""
    required: bool = True
    """True if the JSON form has the member even for the value ``absent``; otherwise it omits the member then."""
    spread: bool = False
    """True if the members of an encoded value are members of the step itself."""


def or_none(codec: Codec) -> Codec:
    """Return the codec that also accepts None, for a part of the line that is left out."""

    def unless_none(function: Callable[..., Any], otherwise: Any = None) -> Callable[..., Any]:
        return lambda value, *rest: otherwise if value is None else function(value, *rest)

    return replace(
        codec,
        types=(*codec.types, NoneType) if codec.types else (),
        kept=unless_none(codec.kept),
        encode=unless_none(codec.encode),
        decode=unless_none(codec.decode),
        uses=unless_none(codec.uses, ()),
        renamed=unless_none(codec.renamed),
        check=lambda scope, value: None if value is None else codec.check(scope, value),
    )


def called(codec: Codec, expected: str) -> Codec:
    """Return the codec of a name that an error message calls ``expected`` if the line ends before it."""
    return replace(codec, read=lambda cursor: cursor.take_identifier(expected))


def one_of(noun: str, words: Sequence[str]) -> Codec:
    """Return the codec of a choice among words. ``noun`` describes them in error messages."""

    def chosen(word: Any) -> Any:
        if word not in words:
            raise ScenarioError(f"{quoted(word)} is no {noun}: write {alternatives(words)}")
        return word

    return Codec(read=lambda cursor: cursor.take(alternatives(words)), kept=chosen)


def _finite(number: Any) -> Any:
    if not math.isfinite(number):
        raise ScenarioError(f"a factor must be finite, not {number}")
    return number


WORD: Final = Codec(read=lambda cursor: cursor.take_identifier("a name"), kept=checked_identifier)
"""Codec of an identifier that is the name of no tensor and no hook."""
NAME: Final = replace(WORD, renamed=lambda name, names: names.get(name, name))
TENSOR: Final = replace(NAME, uses=lambda name: (name,))
LEAF: Final = replace(TENSOR, check=Scope.require_leaf)
NEW_TENSOR: Final = replace(NAME, define=Scope.define)
HOOK: Final = replace(NAME, check=Scope.use_hook)
NEW_HOOK: Final = replace(NAME, define=Scope.define_hook)

FLAG: Final = Codec(read=lambda _: True, write=lambda _: "", types=(bool,), absent=False)
"""Codec of a part of the line that consists of words only: True if it is present."""
TRUE_FLAG: Final = replace(FLAG, required=False)
"""Codec of a flag that the JSON form has only if it is True."""

CONSTANT: Final = Codec(
    read=Constant.from_text,
    write=Constant.to_text,
    types=(Constant,),
    encode=Constant.to_json,
    decode=Constant.from_json,
)
SPREAD_CONSTANT: Final = replace(CONSTANT, spread=True)
"""Codec of a constant whose dtype, shape and values are members of the step itself."""
FACTOR: Final = Codec(
    read=lambda cursor: read_float(cursor.take("a factor")),
    write=write_float,
    types=(float,),
    kept=_finite,
    encode=write_float,
    decode=read_float,
)


Attributes: TypeAlias = tuple[tuple[str, AttributeValue], ...]
Tangent: TypeAlias = tuple[str, Constant]
Tangents: TypeAlias = tuple[Tangent, ...]


def _read_arguments(cursor: Cursor) -> tuple[str, ...]:
    names: list[str] = []
    while not cursor.at_end() and cursor.peek(1) != "=":
        names.append(cursor.take_identifier("an argument"))
    return tuple(names)


def _identifiers(names: tuple[Any, ...]) -> tuple[str, ...]:
    for name in names:
        checked_identifier(name)
    return names


ARGUMENTS: Final = Codec(
    read=_read_arguments,
    write=" ".join,
    types=(tuple,),
    kept=_identifiers,
    encode=list,
    decode=tuple,
    uses=lambda arguments: arguments,
    renamed=lambda arguments, names: tuple(names.get(name, name) for name in arguments),
)


def _read_attributes(cursor: Cursor) -> Attributes:
    pairs: list[tuple[str, AttributeValue]] = []
    while not cursor.at_end():
        name = cursor.take_identifier("an argument")
        if not cursor.accept("="):
            raise ScenarioError(f"argument {quoted(name)} follows an attribute")
        pairs.append((name, read_value(cursor)))
    return tuple(pairs)


def _sorted(attributes: Attributes) -> Attributes:
    for name, value in attributes:
        checked_identifier(name)
        check_value(value)
    ordered = tuple(sorted(attributes, key=lambda pair: pair[0]))
    for (name, _), (following, _) in pairwise(ordered):
        if name == following:
            raise ScenarioError(f"attribute {quoted(name)} is given twice")
    return ordered


ATTRIBUTES: Final = Codec(
    read=_read_attributes,
    write=lambda attributes: " ".join(f"{name}={write_value(value)}" for name, value in attributes),
    types=(tuple,),
    kept=_sorted,
    encode=lambda attributes: {name: encode_value(value) for name, value in attributes},
    decode=lambda members: tuple((name, decode_value(value)) for name, value in members.items()),
)


def _read_tangents(cursor: Cursor) -> Tangents:
    pairs: list[Tangent] = []
    while not pairs or not cursor.at_end():
        pairs.append((cursor.take_identifier("a leaf's name"), Constant.from_text(cursor)))
    return tuple(pairs)


def _tangents(value: Any) -> Tangents:
    tangents = tuple(value)
    for leaf, tangent in tangents:
        checked_identifier(leaf)
        check_type("tangent", tangent, Constant)
    return tangents


def _check_tangents(scope: Scope, tangents: Tangents) -> None:
    if not tangents:
        raise ScenarioError("a jvp needs at least one leaf and its tangent")
    leaves = [leaf for leaf, _ in tangents]
    for leaf, tangent in tangents:
        at = scope.constants.get(leaf)
        if leaf not in scope.leaves or at is None:
            raise ScenarioError(f"{quoted(leaf)} is not a leaf that requires grad")
        if (tangent.dtype, tangent.shape) != (at.dtype, at.shape):
            raise ScenarioError(
                f"the tangent of {quoted(leaf)} is {tangent.type_text}, but it should be {at.type_text}"
            )
        if leaves.count(leaf) > 1:
            raise ScenarioError(f"{quoted(leaf)} has two tangents")


TANGENTS: Final = Codec(
    read=_read_tangents,
    write=lambda tangents: " ".join(f"{leaf} {tangent.to_text()}" for leaf, tangent in tangents),
    kept=_tangents,
    encode=lambda tangents: [{"leaf": leaf, "tangent": tangent.to_json()} for leaf, tangent in tangents],
    decode=lambda rows: tuple((row["leaf"], Constant.from_json(row["tangent"])) for row in rows),
    uses=lambda tangents: tuple(leaf for leaf, _ in tangents),
    renamed=lambda tangents, names: tuple((names.get(leaf, leaf), tangent) for leaf, tangent in tangents),
    check=_check_tangents,
)


def _index(index: Any) -> Any:
    check_value(index)
    items = () if index is None else index if isinstance(index, tuple) else (None,)
    for item in items:
        if type(item) is not int and not (isinstance(item, Slice) and (item.step or 1) > 0):
            raise ScenarioError(f"the index of a write is a tuple of integers and forward slices, not {quoted(index)}")
    return index


INDEX: Final = Codec(
    read=read_value,
    write=write_value,
    kept=_index,
    encode=encode_value,
    decode=decode_value,
)
"""Codec of a tuple with an integer or a slice of positive step for each of the first axes, or of None."""
