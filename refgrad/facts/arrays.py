"""Facts about an array: its entries, shape, dtype and gradients at kinks, or that it is missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from refgrad.facts.assertion import Assertion, Condition, Output, ProgramEnd, condition, movement
from refgrad.facts.computed import TEXTS, Computed, Subject
from refgrad.facts.fact import DIGITS, Fact, Link, Severity, error_link, interval, number, wrong_derivative
from refgrad.native.languages import Python
from refgrad.native.observation import Raised
from refgrad.native.statements import Call, Value
from refgrad.oracles import EntryError, Violation
from refgrad.scenario import Grad, Jvp

UNWRITTEN: Final = ", which it reads from memory that nothing was written to"
UNEQUAL: Final = ", as at the first of these entries, whose operands are equal"


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

    @property
    def text(self) -> str:
        """The array as nested lists."""
        return str(np.array(self.entries, dtype=object).reshape(self.shape).tolist()).replace("'", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Fact):
    """The worst entry of an array, with the certified interval that it should lie in.

    Its distance from the interval is given as ``ulps`` in units in the last place of its dtype, as ``budgets`` in
    multiples of the error that rounding explains, and as ``scaled_error`` in multiples of the largest seed. NaN stands
    for an unknown number. ``qualifier`` qualifies the outcome, and ``reason`` completes its text.
    """

    subject: Subject
    index: tuple[int, ...]
    observed: str
    lower: str
    upper: str
    relative_error: str = "nan"
    budgets: str = "nan"
    ulps: str = "nan"
    qualifier: Literal[
        "", "choice", "nan", "coarser", "limit", "undefined", "cancels", "order", "unwritten", "negligible", "float32",
        "swallowed", "lost", "unequal", "dual",
    ] = ""  # fmt: skip
    reason: str = ""
    scaled_error: str = "nan"

    @property
    def condition(self) -> Condition:
        """The condition that the entry should meet."""
        return condition(float(self.lower), float(self.upper), float(self.observed), float(self.budgets))

    def message(self) -> str:
        error = EntryError(
            self.index, float(self.observed), self.lower, self.upper, float(self.relative_error), float(self.budgets)
        )
        seen = error.describe_choice() if self.qualifier == "choice" else error.describe()
        scale, scaled = "operand" if self.subject.of == "value" else "seed", float(self.scaled_error)
        text: str = TEXTS["remarks"][self.qualifier]
        return text.format(what=self.subject.text, seen=seen, reason=self.reason, scale=scale, scaled=scaled)

    def sentence(self, computed: Computed, engine: str) -> str:
        exact = abs(float(self.observed) - float(self.lower)) < 1e-4 * abs(float(self.lower))
        entry = f"entry [{', '.join(map(str, self.index))}] of " if self.index else ""
        point = computed.point(self.index, seeded=self.subject.of == "gradient")
        what = f"{computed.before}{entry}{computed.subject(self.subject)}{point}"
        right, seen = interval(self.lower, self.upper, exact=exact), number(self.observed, exact=exact)
        added = {"unwritten": UNWRITTEN, "unequal": UNEQUAL}.get(self.qualifier, "")
        return f"{what} is {right}; {engine} gives {seen}{added}."

    def assertion(self, _: ProgramEnd) -> Assertion:
        array = f"{{unmasked}}[{self.subject.call - 1}]" if self.subject.of == "hook" else "{tensor}"
        index = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        test = self.condition.text(Python())
        message = f"{self.subject.text}{index and f' at {index}'} is {{got}}, but it should be {self.condition.right}"
        return Assertion(Call(f"float({array}{index})"), test, message, ["math"] if "math." in test else [])

    def is_printed(self, output: Output) -> bool:
        return output.has(self.observed)

    def severity(self, steps: Sequence[object]) -> Severity:
        derived = any(isinstance(step, Grad | Jvp) and step.name == self.subject.name for step in steps)
        return wrong_derivative(steps) if self.subject.of != "value" or derived else "wrong value"

    def title(self, severity: str) -> str:
        if severity != "missing":
            return Fact.title(self, severity)
        return "Gradient is nan" if self.observed == "nan" else "Wrong gradient"

    def links(self) -> tuple[Link, ...]:
        if self.qualifier == "unequal":
            return (("entries", "equal ones differ"),)
        digits = re.sub(r"\D|e.*", "", self.observed).strip("0")
        return (("number", f"{self.observed} in place of {self.lower}"),) if len(digits) > DIGITS else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape(Fact):
    """An array of an unexpected shape."""

    name = "Wrong shape"
    template = "{fact.subject.text} has the shape {seen}, but it should be {fact.expected}"

    subject: Subject
    seen: tuple[int, ...]
    expected: tuple[int, ...]

    def sentence(self, computed: Computed, engine: str) -> str:
        what = f"{computed.before}{computed.subject(self.subject)}"
        return f"{what} has the shape {self.expected}; {engine} gives {self.seen}."

    def assertion(self, _: ProgramEnd) -> Assertion:
        right = replace(self, expected=tuple(map(int, self.expected)))  # a report may hold anything
        return Assertion(Call("tuple({tensor}.shape)"), f"got == {right.expected}", right.described("{got}"))

    def is_printed(self, output: Output) -> bool:
        return output.numbers == list(self.seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dtype(Fact):
    """An array of an unexpected dtype; ``expected`` is empty if the array holds no numbers at all."""

    name = "Wrong dtype"
    links_must_agree = True

    subject: Subject
    seen: str
    expected: str = ""

    def message(self) -> str:
        expected = f", but it should be {self.expected}" if self.expected else ""
        return f"{self.subject.text} has the dtype {self.seen}{expected}"

    def sentence(self, computed: Computed, engine: str) -> str:
        before = "" if computed.plain else "at the end of the program, "
        expected = f"has the dtype {self.expected}" if self.expected else "is an array of numbers"
        return f"{before}{computed.subject(self.subject)}{computed.dtypes} {expected}; {engine} gives {self.seen}."

    def assertion(self, end: ProgramEnd) -> Assertion | None:
        if not self.expected:
            return None
        message = f"{self.subject.text} has the dtype {{got}}, but it should be {self.expected}"
        expected = end.dtype(self.expected)
        return Assertion(Call("{dtype}"), f"got == {expected}", message, [expected.partition(".")[0]])

    def is_printed(self, output: Output) -> bool:
        return self.seen in output.dtypes

    def links(self) -> tuple[Link, ...]:
        return (("dtype", f"{self.seen} in place of {self.expected}"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked(Fact):
    """An array in which ``masked`` of ``size`` entries are masked: masked entries count as missing."""

    template = "{fact.subject.text} has {fact.masked} of {fact.size} entries masked: they are missing"

    subject: Subject
    masked: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent(Fact):
    """A missing array, with the step before it that raised an error, if any.

    It is ``certain`` unless engines may leave the array out.
    """

    subject: Subject
    certain: bool = True
    after_step: int = 0
    error: Raised | None = None

    def message(self) -> str:
        why = "" if self.certain else ", and it is not certain that one is due"
        before = "" if self.error is None else f": step {self.after_step} raised {self.error.text}"
        return f"{self.subject.text} is missing{why}{before}"

    def sentence(self, computed: Computed, engine: str) -> str:
        what = computed.subject(self.subject).replace("the gradient", "a gradient", 1) + computed.point(seeded=True)
        raised = "" if self.error is None else f", but raises {self.error.text}"
        return f"{computed.before}there is {what}; {engine} gives none{raised}."

    def assertion(self, _: ProgramEnd) -> Assertion | None:
        if self.error is not None:  # the program ends with it
            return None
        return Assertion(Call("{maybe}"), "got is not None", f"{self.subject.text} is missing")

    def is_printed(self, output: Output) -> bool:
        return any(each is None for each in output.values)

    def links(self) -> tuple[Link, ...]:
        return () if self.error is None else (error_link(self.error),)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnexpectedGradient(Fact):
    """An unexpected gradient of a leaf that no backward call reached."""

    template = "{fact.leaf} got the gradient {fact.gradients[0].text}, but nothing was sent to it"

    leaf: str
    gradients: tuple[Numbers, ...]

    def sentence(self, computed: Computed, engine: str) -> str:
        [first, *others] = self.gradients[0].entries
        seen = self.gradients[0].array.tolist() if others else number(first)
        return f"{computed.before}nothing is sent to `{self.leaf}`; {engine} gives it the gradient {seen}."

    def assertion(self, _: ProgramEnd) -> Assertion:
        message = f"{self.leaf} has the gradient {{got}}, but nothing was sent to it"
        return Assertion(Call("{maybe}"), "got is None or not np.any(np.asarray(got))", message, ["np"])

    def is_printed(self, output: Output) -> bool:
        return output.has(*(entry for each in self.gradients for entry in each.entries))

    def severity(self, steps: Sequence[object]) -> Severity:
        return wrong_derivative(steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inconsistent(Fact):
    """Inconsistent subgradients: gradients at kinks that are legal one by one but not together.

    Moving the leaves along ``direction`` changes the output by ``rate`` according to them, and by a number between
    ``lower`` and ``upper`` in truth.
    """

    gradients: tuple[Numbers, ...]
    direction: tuple[Numbers, ...]
    rate: str
    lower: str
    upper: str

    @property
    def condition(self) -> Condition:
        """The condition that the rate of change should meet."""
        return movement(float(self.lower), float(self.upper))

    def message(self) -> str:
        names = " and ".join(each.name for each in self.gradients)
        moving = {each.name: each.array for each in self.direction}
        violation = Violation(moving, float(self.rate), float(self.lower), float(self.upper))
        seen = " and ".join(each.text for each in self.gradients)
        return f"the gradient of {names} is {seen}, {violation.describe()}"

    def sentence(self, computed: Computed, engine: str) -> str:
        moved = " and ".join(f"`{each.name}` by {_listed(each)}" for each in self.direction)
        right, seen = interval(self.lower, self.upper), number(self.rate)
        what = f"moving {moved}{computed.point()} changes `{computed.output}` by {right}"
        return f"{what}; according to the gradient that {engine} gives, by {seen}."

    def assertion(self, end: ProgramEnd) -> Assertion:
        fields = {f"along_{index}": Value(each.array.tolist()) for index, each in enumerate(self.direction)}
        moved = [each for each, _ in zip(self.direction, end.shows, strict=True)]
        terms = [f"float({_slope(index, each)})" for index, each in enumerate(moved)]
        names = " and ".join(f"{each.name} by {_plain(each.array.tolist())}" for each in moved)
        right = self.condition.right
        message = f"moving {names} changes the output by {right}, but by {{got}} according to the gradient"
        return Assertion(Call(" + ".join(terms), fields), self.condition.text(Python()), message)

    def is_printed(self, output: Output) -> bool:
        return output.has(self.rate)

    def severity(self, steps: Sequence[object]) -> Severity:
        return wrong_derivative(steps)


def _slope(index: int, moved: Numbers) -> str:
    """Return the template of the slope along the leaf of this index."""
    if not moved.shape and float(moved.entries[0]) == 1:
        return f"{{tensor_{index}}}"
    return f"np.vdot(np.asarray({{tensor_{index}}}), np.array({{along_{index}}}))"


def _listed(numbers: Numbers) -> str:
    entries = [number(entry) for entry in numbers.entries]
    return entries[0] if len(entries) == 1 else f"[{', '.join(entries)}]"


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
