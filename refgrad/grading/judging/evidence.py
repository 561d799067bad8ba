"""What decides an outcome, as data: one class for each kind of fact that an engine, or a check, can show.

A number is kept as the text that Python prints of it, since JSON has neither infinities nor NaN. What is said of a fact
in English is made in ``narration``; nothing reads it back.
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
    """The array that a fact is about: a tensor's value, its gradient, or what a hook saw in a call, from 1."""

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
        """Raise ValueError where the number of entries is not that of the shape."""
        if prod(self.shape) != len(self.entries):
            raise ValueError(f"an array of shape {self.shape} cannot have {len(self.entries)} entries")

    @classmethod
    def of(cls, array: npt.NDArray[Any], name: str = "") -> Numbers:
        """Keep an array, and the name of the tensor that it belongs to."""
        return cls(array.shape, tuple(map(repr, array.ravel().tolist())), name)

    @property
    def array(self) -> npt.NDArray[np.float64]:
        """The array again."""
        return np.array([float(entry) for entry in self.entries]).reshape(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The worst entry of an array beside the certified interval that it should lie in.

    ``ulps`` says how far it is from there, in units of its dtype's last place, ``budgets`` in how much rounding
    explains, and ``scaled_error`` in magnitudes of the largest seed; NaN stands for what is not known. ``remark`` says
    why it is not simply wrong, and ``reason`` what the remark is about.
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
    """An array of another shape than is due."""

    kind: Literal["shape"] = "shape"
    subject: Subject
    seen: tuple[int, ...]
    expected: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dtype:
    """An array of another dtype than is due; nothing is ``expected`` where it holds no numbers at all."""

    kind: Literal["dtype"] = "dtype"
    subject: Subject
    seen: str
    expected: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """An array so many entries of which are masked: what stands below a mask is missing."""

    kind: Literal["masked"] = "masked"
    subject: Subject
    masked: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """An array that is not there, though due, or though that is not ``certain``, after a step that raised an error."""

    kind: Literal["absent"] = "absent"
    subject: Subject
    certain: bool = True
    after_step: int = 0
    error: Raised | None = None


Excuse: TypeAlias = Literal["", "zero", "valueless", "outside"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """An error that is not due, or not of the ``expected`` patterns of the kinds that are ``due``.

    ``excuse`` says why one may come there after all: because a gradient is zero, because there may be no value, or
    because an operand is outside of what the operator's row gives it.
    """

    kind: Literal["error"] = "error"
    error: Raised
    due: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    excuse: Excuse = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """No error, where one of these kinds is due."""

    kind: Literal["silence"] = "silence"
    due: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A flag that is not as it should be."""

    kind: Literal["flag"] = "flag"
    seen: str
    expected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """A hook that saw more or fewer gradients than there were."""

    kind: Literal["calls"] = "calls"
    hook: str
    seen: int
    expected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """A gradient of a leaf that nothing was sent to."""

    kind: Literal["unsent"] = "unsent"
    leaf: str
    gradients: tuple[Numbers, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A seed that is no longer what it was."""

    kind: Literal["written"] = "written"
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncoupled:
    """Gradients at kinks that are legal one by one and not together.

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
    """The process of an engine ended, or gave no answer: what was seen of that, and the end of what it wrote."""

    kind: Literal["died"] = "died"
    detail: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacks:
    """What an engine does not offer: features, dtypes, operators."""

    kind: Literal["lacks"] = "lacks"
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """A check that could not be run, because another one fails that it cannot do without."""

    kind: Literal["blocked"] = "blocked"
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many scenarios were found to be what, where none fails."""

    kind: Literal["tally"] = "tally"
    counts: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, outcomes: Mapping[Any, int]) -> Self | None:
        """Return the counts of all outcomes but ``passed``, None where there is none."""
        counts = tuple((outcome, count) for outcome, count in sorted(outcomes.items()) if outcome != "passed")
        return cls(counts=counts) if counts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parents:
    """A node of a recorded graph that leads elsewhere than it should; empty names stand for what is no tensor."""

    kind: Literal["parents"] = "parents"
    node: str
    seen: tuple[str, ...]
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measurement that came out otherwise than it must: memory that is held, or time that grows too steeply."""

    kind: Literal["measured"] = "measured"
    quantity: Literal["growth", "memory", "tensor", "time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What no other kind of fact tells: of an adapter, say, or of why nothing can be judged."""

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
"""The facts by their kinds."""

NESTED: Final[Mapping[str, type[Subject | Raised | Numbers]]] = MappingProxyType({
    "subject": Subject,
    "error": Raised,
    "gradients": Numbers,
    "direction": Numbers,
})
"""The members of facts that have members of their own."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact, the step that showed it, from 1 (0 where no step did), and in how many runs of how many it was seen."""

    fact: Fact
    step: int = 0
    seen: int = 1
    runs: int = 1

    @property
    def repeatable(self) -> bool:
        """Whether it was seen in every run."""
        return self.seen == self.runs

    def to_json(self) -> dict[str, Any]:
        """Return the members of the fact and of the evidence beside each other."""
        here = {"step": self.step, "repeatable": self.repeatable, "seen_in": self.seen, "runs": self.runs}
        return {**here, "fact": _written(asdict(self.fact))}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Evidence:
        """Read what ``to_json`` returns. Raises TypeError for unknown or missing members and kinds."""
        try:
            fact = row["fact"]
            members = {name: _read(value, NESTED.get(name)) for name, value in fact.items()}
            return cls(KINDS[fact["kind"]](**members), row["step"], row["seen_in"], row["runs"])
        except (KeyError, AttributeError) as error:
            raise TypeError(f"evidence lacks {error}") from error


def _written(value: Any) -> Any:
    """Return what JSON has: lists for tuples."""
    if isinstance(value, Mapping):
        return {name: _written(each) for name, each in value.items()}
    return [_written(each) for each in value] if isinstance(value, list | tuple) else value


def _read(value: Any, nested: type[Any] | None = None) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_read(each, nested) for each in value)
    if nested is not None and isinstance(value, Mapping):
        return nested(**{name: _read(each) for name, each in value.items()})
    return value
