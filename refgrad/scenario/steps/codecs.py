"""Codecs: how one field of a step is validated, read from a line and written to it, converted to JSON, and renamed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, Final, TypeAlias

from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError, alternatives, quoted
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.numerals import read_float, write_float
from refgrad.scenario.steps.scope import Scope
from refgrad.scenario.tokens import Cursor

Schema: TypeAlias = Mapping[str, Any]
Names: TypeAlias = Mapping[str, str]


def _same(value: Any) -> Any:
    return value


def no_names(_value: Any) -> tuple[str, ...]:
    """Return no names."""
    return ()


def _with_no_names(value: Any, _names: Names) -> Any:
    return value


def no_rule(_scope: Scope, _value: Any) -> None:
    """Accept every value."""


@dataclass(frozen=True, slots=True)
class Codec:
    """The codec of one kind of field. Its text and its JSON each represent all of a value."""

    schema: Schema
    """JSON Schema of an encoded value."""
    read: Callable[[Cursor], Any]
    """Read the text of a value."""
    write: Callable[[Any], str] = str
    """Return the text of a value."""
    types: tuple[type, ...] = ()
    """Types that a value may have; empty where ``kept`` rejects values of other types."""
    kept: Callable[[Any], Any] = _same
    """Return the value that a step stores, or raise ScenarioError."""
    encode: Callable[[Any], Any] = _same
    """Return the JSON form of a value."""
    decode: Callable[[Any], Any] = _same
    """Read a JSON form that satisfies the schema."""
    uses: Callable[[Any], tuple[str, ...]] = no_names
    """Return the names of the tensors that a value refers to."""
    renamed: Callable[[Any, Names], Any] = _with_no_names
    """Return a value with other names. Names that are not in the mapping stay."""
    check: Callable[[Scope, Any], None] = no_rule
    """Raise ScenarioError if a value is not valid in a scope in which the tensors that it uses exist."""
    define: Callable[[Scope, Any], None] = no_rule
    """Add the name that a value defines."""
    absent: Any = None
    """Value of a part of the line that is left out."""
    required: bool = True
    """True if the JSON form has the member even where the value is ``absent``."""
    members: Mapping[str, Schema] | None = None
    """Members of an encoded value if they are members of the step itself, or None if the value is one member."""


def or_none(codec: Codec) -> Codec:
    """Return the codec that also accepts None, for a part of the line that is left out."""

    def unless_none(function: Callable[..., Any], otherwise: Any = None) -> Callable[..., Any]:
        return lambda value, *rest: otherwise if value is None else function(value, *rest)

    return replace(
        codec,
        schema={"oneOf": [{"type": "null"}, codec.schema]},
        types=(*codec.types, NoneType) if codec.types else (),
        kept=unless_none(codec.kept),
        encode=unless_none(codec.encode),
        decode=unless_none(codec.decode),
        uses=unless_none(codec.uses, ()),
        renamed=unless_none(codec.renamed),
        check=lambda scope, value: None if value is None else codec.check(scope, value),
    )


def called(codec: Codec, wanted: str) -> Codec:
    """Return the codec of a name that an error message calls ``wanted`` if the line ends before it."""
    return replace(codec, read=lambda cursor: cursor.take_identifier(wanted))


def one_of(noun: str, words: Sequence[str]) -> Codec:
    """Return the codec of a choice among words. ``noun`` describes them in error messages."""

    def chosen(word: Any) -> Any:
        if word not in words:
            raise ScenarioError(f"{quoted(word)} is no {noun}: write {alternatives(words)}")
        return word

    return Codec({"enum": list(words)}, read=lambda cursor: cursor.take(alternatives(words)), kept=chosen)


def _identifier(name: Any) -> Any:
    check_identifier(name)
    return name


def _finite(number: Any) -> Any:
    if not math.isfinite(number):
        raise ScenarioError(f"a factor must be finite, not {number}")
    return number


WORD: Final = Codec({"$ref": "#/$defs/name"}, read=lambda cursor: cursor.take_identifier("a name"), kept=_identifier)
"""Codec of an identifier that is the name of no tensor and no hook."""
NAME: Final = replace(WORD, renamed=lambda name, names: names.get(name, name))
TENSOR: Final = replace(NAME, uses=lambda name: (name,))
LEAF: Final = replace(TENSOR, check=Scope.require_leaf)
NEW_TENSOR: Final = replace(NAME, define=Scope.define)
HOOK: Final = replace(NAME, check=Scope.use_hook)
NEW_HOOK: Final = replace(NAME, define=Scope.define_hook)

FLAG: Final = Codec({"type": "boolean"}, read=lambda _: True, write=lambda _: "", types=(bool,), absent=False)
"""Codec of a part of the line that consists of words only: True if it is present."""
TRUE_FLAG: Final = replace(FLAG, schema={"const": True}, required=False)
"""Codec of a flag that the JSON form has only if it is True."""

CONSTANT: Final = Codec(
    {"$ref": "#/$defs/constant"},
    read=Constant.from_text,
    write=Constant.to_text,
    types=(Constant,),
    encode=Constant.to_json,
    decode=Constant.from_json,
)
CONSTANT_BESIDE: Final = replace(CONSTANT, members=Constant.fields)
"""Codec of a constant whose dtype, shape and values are members of the step itself."""
FACTOR: Final = Codec(
    {"$ref": "#/$defs/number"},
    read=lambda cursor: read_float(cursor.take("a factor")),
    write=write_float,
    types=(float,),
    kept=_finite,
    encode=write_float,
    decode=read_float,
)
