"""Facts that decide an outcome, as data: one class for each kind of fact that an engine or a check can show.

Numbers are stored as the text that Python prints of them, since JSON has neither infinities nor NaN. ``narration``
describes facts in English; no code parses these descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import prod
from types import MappingProxyType
from typing import Any, Final, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from refgrad.native.observation import Raised


@dataclass(frozen=True, slots=True)
class Subject:
    """The array that a fact is about: a tensor's value, its gradient, or what a hook received in ``call``, from 1."""

    of: Literal["value", "gradient", "hook"]
    name: str
    call: int = 0


@dataclass(frozen=True, slots=True)
class Numbers:
    """An array: its shape, and its entries in C order."""

    shape: tuple[int, ...]
    entries: tuple[str, ...]
    name: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError if the number of entries does not match the shape."""
        if prod(self.shape) != len(self.entries):
            raise ValueError(f"an array of shape {self.shape} cannot have {len(self.entries)} entries")

    @classmethod
    def of(cls, array: npt.NDArray[Any], name: str = "") -> Numbers:
        """Return an array as data, with the name of the tensor that it belongs to."""
        return cls(array.shape, tuple(map(repr, array.ravel().tolist())), name)

    @property
    def array(self) -> npt.NDArray[np.float64]:
        """The array in float64."""
        return np.array([float(entry) for entry in self.entries]).reshape(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The worst entry of an array, with the certified interval that it should lie in.

    Its distance from the interval is given as ``ulps`` in units in the last place of its dtype, as ``budgets`` in
    multiples of the error that rounding explains, and as ``scaled_error`` in multiples of the largest seed. NaN stands
    for an unknown number. ``remark`` qualifies the outcome, and ``reason`` completes the remark.
    """

    kind: Literal["entry"] = "entry"
    subject: Subject
    index: tuple[int, ...]
    observed: str
    lower: str
    upper: str
    relative_error: str
    budgets: str
    ulps: str
    remark: Literal[
        "", "choice", "nan", "coarser", "limit", "undefined", "cancels", "order", "unwritten", "negligible", "float32",
        "swallowed",
    ] = ""  # fmt: skip
    reason: str = ""
    scaled_error: str = "nan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """An array of an unexpected shape."""

    kind: Literal["shape"] = "shape"
    subject: Subject
    seen: tuple[int, ...]
    expected: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dtype:
    """An array of an unexpected dtype; ``expected`` is empty if the array holds no numbers at all."""

    kind: Literal["dtype"] = "dtype"
    subject: Subject
    seen: str
    expected: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """An array in which ``masked`` of ``size`` entries are masked: masked entries count as missing."""

    kind: Literal["masked"] = "masked"
    subject: Subject
    masked: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A missing array, with the step before it that raised an error, if any.

    It is ``certain`` unless engines may leave the array out.
    """

    kind: Literal["absent"] = "absent"
    subject: Subject
    certain: bool = True
    after_step: int = 0
    error: Raised | None = None


Excuse: TypeAlias = Literal["", "zero", "valueless", "outside"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """An unexpected error, or one that matches no ``expected`` pattern of the kinds that are ``due``.

    ``excuse`` says why the step may raise an error after all: because a gradient is zero, because there may be no
    value, or because an operand is outside of the range that the operator's row gives it.
    """

    kind: Literal["error"] = "error"
    error: Raised
    due: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    excuse: Excuse = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A step without an error that must fail with one of the kinds ``due``."""

    kind: Literal["silence"] = "silence"
    due: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A flag with an unexpected value."""

    kind: Literal["flag"] = "flag"
    seen: str
    expected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """A hook that was called with more or fewer gradients than there were."""

    kind: Literal["calls"] = "calls"
    hook: str
    seen: int
    expected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """An unexpected gradient of a leaf that no backward call reached."""

    kind: Literal["unsent"] = "unsent"
    leaf: str
    gradients: tuple[Numbers, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A seed that the engine has written to."""

    kind: Literal["written"] = "written"
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncoupled:
    """Inconsistent subgradients: gradients at kinks that are legal one by one but not together.

    Moving the leaves along ``direction`` changes the output by ``rate`` according to them, and by a number between
    ``lower`` and ``upper`` in truth.
    """

    kind: Literal["uncoupled"] = "uncoupled"
    gradients: tuple[Numbers, ...]
    direction: tuple[Numbers, ...]
    rate: str
    lower: str
    upper: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """The end or the hang of an engine's process: a description, and the last part of its standard error."""

    kind: Literal["died"] = "died"
    detail: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacks:
    """Features, dtypes or operators that an engine does not offer."""

    kind: Literal["lacks"] = "lacks"
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """A check that could not be run, because another check that it relies on fails."""

    kind: Literal["blocked"] = "blocked"
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Number of scenarios by outcome, for a check without failures."""

    kind: Literal["tally"] = "tally"
    counts: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, outcomes: Mapping[Any, int]) -> Self | None:
        """Return the counts of all outcomes but ``passed``, or None if there are none."""
        counts = tuple((outcome, count) for outcome, count in sorted(outcomes.items()) if outcome != "passed")
        return cls(counts=counts) if counts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parents:
    """A node of a recorded graph with unexpected parents; an empty name stands for a node of no known tensor."""

    kind: Literal["parents"] = "parents"
    node: str
    seen: tuple[str, ...]
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A failed measurement: memory that is still held or grows, or time that grows too fast."""

    kind: Literal["measured"] = "measured"
    quantity: Literal["growth", "memory", "tensor", "time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A fact of no other kind, in English: about an adapter, for example, or why nothing can be judged."""

    kind: Literal["remark"] = "remark"
    text: str


Fact: TypeAlias = (
    Entry
    | Shape
    | Dtype
    | Masked
    | Absent
    | Error
    | Silence
    | Flag
    | Calls
    | Unsent
    | Written
    | Uncoupled
    | Died
    | Lacks
    | Blocked
    | Tally
    | Parents
    | Measured
    | Remark
)

KINDS: Final[Mapping[str, type[Fact]]] = MappingProxyType({
    str(field.default): each for each in get_args(Fact) for field in fields(each) if field.name == "kind"
})
"""Classes of facts by kind."""

NESTED: Final[Mapping[str, type[Subject | Raised | Numbers]]] = MappingProxyType({
    "subject": Subject,
    "error": Raised,
    "gradients": Numbers,
    "direction": Numbers,
})
"""Classes of the members of facts that are objects themselves, by name."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact, the step that showed it (from 1, or 0 for no step), and the number of runs that did, of all runs."""

    fact: Fact
    step: int = 0
    seen: int = 1
    runs: int = 1

    @property
    def repeatable(self) -> bool:
        """Return True if every run showed the fact."""
        return self.seen == self.runs

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as a JSON object, with the fact as its member ``fact``."""
        here = {"step": self.step, "repeatable": self.repeatable, "seen_in": self.seen, "runs": self.runs}
        return {**here, "fact": _written(asdict(self.fact))}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Evidence:
        """Read what ``to_json`` returns. Raises TypeError for unknown or missing members and kinds."""
        try:
            fact = row["fact"]
            members = {name: _read(value, NESTED.get(name)) for name, value in fact.items()}
            return cls(KINDS[fact["kind"]](**members), row.get("step", 0), row.get("seen_in", 1), row.get("runs", 1))
        except (KeyError, AttributeError) as error:
            raise TypeError(f"evidence lacks {error}") from error


def _written(value: Any) -> Any:
    """Replace tuples by lists, which JSON has."""
    if isinstance(value, Mapping):
        return {name: _written(each) for name, each in value.items()}
    return [_written(each) for each in value] if isinstance(value, list | tuple) else value


def _read(value: Any, nested: type[Any] | None = None) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_read(each, nested) for each in value)
    if nested is not None and isinstance(value, Mapping):
        return nested(**{name: _read(each) for name, each in value.items()})
    return value
