"""Facts about the behaviour of an engine: its errors, flags, hooks and graphs, and the end of its process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

from refgrad.facts.assertion import Assertion, Output, ProgramEnd
from refgrad.facts.computed import TEXTS, Computed
from refgrad.facts.fact import MEMORY, Fact, Link, error_link
from refgrad.native.observation import Raised
from refgrad.native.statements import Call, Name, Traversal, Value
from refgrad.scenario import Read

Explanation: TypeAlias = Literal["", "zero", "valueless", "outside"]


def reasons(kinds: Sequence[str]) -> str:
    """Return why an error of one of these kinds is expected."""
    return " or ".join(TEXTS["reasons"].get(kind, kind) for kind in kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Error(Fact):
    """An unexpected error, or one that matches no ``expected`` pattern of one of the ``expected_kinds``.

    ``explanation`` says why the step may raise an error after all: because a gradient is zero, because there may be no
    value, or because an operand is outside of the range that the operator's row gives it.
    """

    error: Raised
    expected_kinds: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    explanation: Explanation = ""

    def message(self) -> str:
        explanation = TEXTS["excuses"][self.explanation]
        if not self.expected:
            return f"{explanation}raised {self.error.text}"
        patterns, kinds = " or ".join(map(repr, self.expected)), " or ".join(self.expected_kinds)
        return f"{explanation}raised {self.error.text!r}, which does not match {patterns}, as it should ({kinds})"

    def sentence(self, computed: Computed, engine: str) -> str:
        required = f"an error is due here that says so: {reasons(self.expected_kinds)}"
        expected = required if self.expected else computed.possible
        return f"{computed.before}{expected}; {engine} raises {self.error.text.rstrip('.')}."

    def title(self, severity: str) -> str:
        return Fact.title(self, severity) if self.expected else "Unexpected error"

    def links(self) -> tuple[Link, ...]:
        return (error_link(self.error),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence(Fact):
    """A step without an error that must fail with one of the ``expected_kinds``."""

    name = "No error"
    links_must_agree = True

    expected_kinds: tuple[str, ...]

    def message(self) -> str:
        return f"carried on silently where an error is due ({' or '.join(self.expected_kinds)})"

    def sentence(self, computed: Computed, engine: str) -> str:
        what = f"{computed.action} must be refused, since {reasons(self.expected_kinds)}"
        return f"at the end of the program, {what}; {engine} raises no error."

    def links(self) -> tuple[Link, ...]:
        return (("no error:", " or ".join(self.expected_kinds)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Fact):
    """A flag with an unexpected value."""

    name = "Wrong flag"
    template = "is {seen}, but it should be {fact.expected}"

    seen: str
    expected: bool

    def sentence(self, computed: Computed, engine: str) -> str:
        last = computed.steps[-1]
        what = f"`{last.what}` of `{last.name}`" if isinstance(last, Read) else "the flag"
        return f"{computed.before}{what} is {self.expected}; {engine} says {self.seen}."

    def assertion(self, end: ProgramEnd) -> Assertion:
        [show] = end.shows
        right = replace(self, expected=bool(self.expected))
        return Assertion(Call("{shown}"), f"got is {right.expected}", f"{show.what} {right.described('{got}')}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls(Fact):
    """A hook that was called with more or fewer gradients than there were."""

    template = "{fact.hook} saw {seen} gradients, but there were {fact.expected}"

    hook: str
    seen: int
    expected: int

    def sentence(self, computed: Computed, engine: str) -> str:
        expected, seen = (f"{n} gradient{'' if n == 1 else 's'}" for n in (self.expected, self.seen))
        return f"{computed.before}the hook `{self.hook}` sees {expected}; {engine} shows it {seen}."

    def assertion(self, _: ProgramEnd) -> Assertion:
        return Assertion(Call("len({shown})"), f"got == {self.expected}", self.described("{got}"))

    def is_printed(self, output: Output) -> bool:
        return self.seen in output.numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Fact):
    """A seed that the engine has written to."""

    links_must_agree = True
    template = "wrote to a seed: {fact.change}"

    change: str

    def sentence(self, _: Computed, engine: str) -> str:
        return f"A backward does not write to its seed; that of {engine} does."

    def assertion(self, end: ProgramEnd) -> Assertion | None:
        if end.seed is None:
            return None
        name, seed = end.seed
        before = Call("np.asarray({seed})", {"seed": seed}, ("due",))
        got = Call("np.asarray({seed})", {"seed": Name(name)})
        return Assertion(got, "np.array_equal(got, due)", "the seed is {got}, and was {due}", ["np"], [before])

    def links(self) -> tuple[Link, ...]:
        return (("memory:", MEMORY),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Died(Fact):
    """The end or the hang of an engine's process: a description, and the last part of its standard error."""

    detail: str = ""
    stderr: str = ""

    def message(self) -> str:
        return self.detail or "the engine's process died while it ran this scenario"

    def sentence(self, computed: Computed, engine: str) -> str:
        return f"{computed.before}{computed.possible}; {engine}: {self.message()}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacks(Fact):
    """Features, dtypes or operators that an engine does not offer."""

    names: tuple[str, ...]

    def message(self) -> str:
        return f"the engine has no {', no '.join(self.names)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked(Fact):
    """A check that could not be run, because another check that it relies on fails."""

    template = "{fact.cause} fails already"

    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally(Fact):
    """Number of scenarios by outcome, for a check without failures."""

    counts: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, outcomes: Mapping[Any, int]) -> Self | None:
        """Return the counts of all outcomes but ``passed``, or None if there are none."""
        counts = tuple((outcome, count) for outcome, count in sorted(outcomes.items()) if outcome != "passed")
        return cls(counts=counts) if counts else None

    def message(self) -> str:
        return ", ".join(f"{count} {outcome}" for outcome, count in self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parents(Fact):
    """A node of a recorded graph with unexpected parents; an empty name stands for a node of no known tensor."""

    node: str
    seen: tuple[str, ...]
    expected: tuple[str, ...]

    @property
    def _texts(self) -> tuple[str, ...]:
        """The names of the parents that were seen, and of those that are expected."""
        return tuple(", ".join(name or "something else" for name in names) for names in (self.seen, self.expected))

    def message(self) -> str:
        seen, expected = self._texts
        return f"the node of {self.node} leads to [{seen}], not to [{expected}]"

    def sentence(self, _: Computed, engine: str) -> str:
        seen, expected = self._texts
        return f"The node of `{self.node}` leads to [{expected}]; that of {engine} leads to [{seen}]."

    def assertion(self, end: ProgramEnd) -> Assertion:
        """Assert where a node leads, or, where the order is what is wrong, where all nodes lead: sets may be in any."""
        traversal = end.statements[-1]
        assert isinstance(traversal, Traversal)
        parents, fields = f"[names.get(id(parent)) for parent in ({traversal.parents})]", {"node": Name("node")}
        if sorted(self.seen) != sorted(self.expected):
            message = f"the node of {self.node} leads to {{got}}, but it should lead to {list(self.expected)}"
            test = f"sorted(map(str, got)) == {sorted(self.expected)}"
            return Assertion(Call(parents, fields), test, message, [], [Call(f"nodes[{self.node!r}]", {}, ("node",))])
        expected = Call("{due}", {"due": Value(dict(end.parents))}, ("due",))
        every = Call(f"{{{{name: {parents} for name, {{node}} in nodes.items() if name in due}}}}", fields)
        return Assertion(every, "got == due", "the nodes lead to {got}, but they should lead to {due}", [], [expected])


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Fact):
    """A failed measurement: memory that is still held or grows, or time that grows too fast."""

    quantity: Literal["growth", "memory", "tensor", "time"]

    def message(self) -> str:
        grown = {"growth": "memory grows with every iteration", "time": "time grows faster than the size"}
        return grown.get(self.quantity, f"{self.quantity} is not let go")

    def sentence(self, _: Computed, engine: str) -> str:
        return f"{engine}: {self.message()}."


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedNumber(Fact):
    """A wrong number that an exercise noted under a label.

    The number is None if a gradient is missing. ``wrong`` of the ``runs`` show a wrong number; there are no runs if
    nothing was noted. ``numbers`` has the expected number of each label of the exercise.
    """

    label: str
    seen: str | None
    expected: str
    wrong: int
    runs: int
    numbers: tuple[tuple[str, str], ...]

    def message(self) -> str:
        if not self.runs:
            return f"{self.label} was never noted"
        often = "" if self.runs == 1 else f", in {self.wrong} of {self.runs} runs"
        what = "missing" if self.seen is None else f"{self.seen}, but it should be {self.expected}"
        return f"{self.label} is {what}{often}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment(Fact):
    """A fact of no other kind, in English: about an adapter, for example, or why nothing can be judged."""

    template = "{fact.text}"

    text: str
