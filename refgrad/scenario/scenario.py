"""The scenario: a list of steps that is valid once constructed, its text, with one line for each step, and its JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from hashlib import sha256
from typing import Any, Final

from refgrad.documents import first_problem, message_of, validator_of
from refgrad.errors import LONGEST_QUOTE, shortened, suggestion
from refgrad.operators import Operator, operator_table
from refgrad.scenario.attributes import MAXIMUM_DEPTH
from refgrad.scenario.codecs import Scope
from refgrad.scenario.errors import ScenarioError, quoted
from refgrad.scenario.functions import arguments_of_functions, scenario_functions
from refgrad.scenario.kinds import VOCABULARY, Apply, Backward, Definition, FunctionCall, Grad, Jvp, Leaf
from refgrad.scenario.step import Step
from refgrad.scenario.tokens import Cursor, tokenize

SCHEMA_NAME: Final = "refgrad/scenario/1"
"""Member "schema" of the JSON form, which ``specs/schema/scenario.schema.json`` describes."""

_MAXIMUM_NESTING: Final = MAXIMUM_DEPTH + 7
"""Levels of the JSON form: document, steps, step, attributes; the tuples; a slice as object, array and numbers."""


def read_steps(text: str) -> list[tuple[int, Step]]:
    """Return the steps of a text, each with the number of its line, counted from 1.

    `#` starts a comment; blank lines are skipped. Raises ScenarioError naming the line.
    """
    numbered: list[tuple[int, Step]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            tokens = tokenize(line)
            if tokens:
                numbered.append((number, _read_step(tokens)))
        except ScenarioError as error:
            raise ScenarioError(error.rule, line=number) from None
    return numbered


def _read_step(tokens: list[str]) -> Step:
    cursor = Cursor(tokens)
    if cursor.peek(1) == "=":
        kind: type[Step] = VOCABULARY.assignments.get(cursor.peek(2), Apply)
    elif cursor.peek() in VOCABULARY.actions:
        kind = VOCABULARY.actions[cursor.peek()]
    else:
        hint = suggestion(cursor.peek(), VOCABULARY.actions) or "; write NAME = ... to make a tensor"
        raise ScenarioError(f"unknown step {quoted(cursor.peek())}{hint}")
    step = kind.from_text(cursor)
    cursor.finish()
    return step


@dataclass(frozen=True, slots=True, repr=False)
class Scenario:
    """A straight-line list of steps, valid once constructed.

    Names are unique and defined before use; every region that is entered is left; operators are in the table and get
    the number of arguments and the attributes that they take. Otherwise the constructor raises ScenarioError naming the
    step, counted from 1. The interpreter checks whether shapes and dtypes match. `table` defaults to
    `operator_table()`.
    """

    steps: tuple[Step, ...]
    table: InitVar[Mapping[str, Operator] | None] = None
    _text: str | None = field(default=None, init=False, compare=False)
    _hash: int | None = field(default=None, init=False, compare=False)
    _definitions: Mapping[str, Definition] | None = field(default=None, init=False, compare=False)
    _calls: tuple[FunctionCall, ...] | None = field(default=None, init=False, compare=False)

    def __post_init__(self, table: Mapping[str, Operator] | None) -> None:
        """Check every step in its scope."""
        object.__setattr__(self, "steps", tuple(self.steps))
        scope = Scope(operator_table() if table is None else table, arguments_of_functions())
        for number, step in enumerate(self.steps, start=1):
            try:
                if not isinstance(step, Step):
                    raise ScenarioError(f"{quoted(step)} is not a step")  # noqa: TRY301 (to name the step, as other errors)
                step.check(scope)
            except ScenarioError as error:
                raise ScenarioError(error.rule, step=number) from None
        if scope.depth:
            raise ScenarioError("a region is entered that is never left", step=len(self.steps))

    def __hash__(self) -> int:
        """Return the hash of the steps, computed only once: caches use it several times for each scenario."""
        if self._hash is None:
            object.__setattr__(self, "_hash", hash(self.steps))
        return self._hash or 0

    def __repr__(self) -> str:
        """Return an expression that evaluates to the scenario and can be pasted into code."""
        plain = "\\" not in self.text and '"""' not in self.text
        return f'parse("""\n{self.text}""")' if plain else f"parse({self.text!r})"

    def _repr_pretty_(self, printer: Any, cycle: object) -> None:  # noqa: ARG002 (the protocol of IPython)
        """Print the expression. Hypothesis and IPython would otherwise list the fields of every step."""
        first, *others = repr(self).split("\n")
        printer.text(first)
        for line in others:
            printer.break_()
            printer.text(line)

    @property
    def text(self) -> str:
        """Canonical text, with one line for each step, newlines included."""
        if self._text is None:
            object.__setattr__(self, "_text", "".join(f"{step.to_text()}\n" for step in self.steps))
        return self._text or ""

    @property
    def id(self) -> str:
        """First 16 hex digits of the sha256 of the text."""
        return sha256(self.text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, as specified in specs/schema/scenario.schema.json. Numbers are strings."""
        return {"schema": SCHEMA_NAME, "steps": [{"step": step.form.tag, **step.to_json()} for step in self.steps]}

    @classmethod
    def from_json(cls, document: object, table: Mapping[str, Operator] | None = None) -> Scenario:
        """Return the scenario of a JSON form. Raises ScenarioError naming the step."""
        return cls(tuple(_decoded_steps(document)), table)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Leaves, in order."""
        return tuple(step for step in self.steps if isinstance(step, Leaf))

    @property
    def applications(self) -> tuple[Apply, ...]:
        """Applied operators, in order."""
        return tuple(step for step in self.steps if isinstance(step, Apply))

    @property
    def definitions(self) -> Mapping[str, Definition]:
        """The step that creates each name, in order."""
        if self._definitions is None:
            definitions = {step.name: step for step in self.steps if isinstance(step, Definition)}
            object.__setattr__(self, "_definitions", definitions)
        return self._definitions or {}

    @property
    def gradients(self) -> tuple[Grad, ...]:
        """Recorded gradients, in order."""
        return tuple(step for step in self.steps if isinstance(step, Grad))

    @property
    def jvps(self) -> tuple[Jvp, ...]:
        """Directional derivatives, in order."""
        return tuple(step for step in self.steps if isinstance(step, Jvp))

    @property
    def backwards(self) -> tuple[tuple[int, Backward], ...]:
        """Backward steps with their indices in `steps`, in order."""
        return tuple((index, step) for index, step in enumerate(self.steps) if isinstance(step, Backward))

    @property
    def operators(self) -> frozenset[str]:
        """Names of the operators that are applied, those of functions included."""
        applied = frozenset(step.operator for step in self.steps if isinstance(step, Apply))
        return applied.union(*(scenario_functions()[each.function].operators for each in self.calls))

    @property
    def calls(self) -> tuple[FunctionCall, ...]:
        """Calls of functions, in order."""
        if self._calls is None:
            object.__setattr__(self, "_calls", tuple(step for step in self.steps if isinstance(step, FunctionCall)))
        return self._calls or ()


def _decoded_steps(document: Any) -> Iterator[Step]:
    """Yield the steps of a JSON form. Raises ScenarioError naming the step, counted from 1."""
    _check_document(document)
    for number, members in enumerate(document["steps"], start=1):
        try:
            yield _kind_of_step(members).from_json(members)
        except ScenarioError as error:
            raise ScenarioError(error.rule, step=number) from None


def _check_document(document: object) -> None:
    """Raise ScenarioError if a document is not that of a scenario. Steps are not checked."""
    _check_nesting(document)
    if not isinstance(document, dict) or set(document) != {"schema", "steps"}:
        raise ScenarioError("a scenario in JSON is an object with the members 'schema' and 'steps'")
    if document["schema"] != SCHEMA_NAME:
        raise ScenarioError(f"the member 'schema' must be {SCHEMA_NAME!r}")
    if not isinstance(document["steps"], list):
        raise ScenarioError("the member 'steps' must be an array")


def _check_nesting(document: object) -> None:
    level = [document]
    for _ in range(_MAXIMUM_NESTING):
        arrays = [item for item in level if isinstance(item, list | tuple)]
        objects = [item for item in level if isinstance(item, dict)]
        level = [inner for item in arrays for inner in item]
        level += [inner for item in objects for inner in item.values()]
    if level:
        raise ScenarioError("the document is nested too deep")


def _kind_of_step(members: object) -> type[Step]:
    """Return the kind of a step in JSON. Raises ScenarioError if its members do not satisfy the schema of that kind."""
    tag = members.get("step") if isinstance(members, dict) else None
    if not isinstance(tag, str):
        raise ScenarioError("a step in JSON is an object whose member 'step' is a string")
    if tag not in VOCABULARY.by_tag:
        raise ScenarioError(f"unknown step {quoted(tag)}{suggestion(tag, VOCABULARY.by_tag)}")
    error = first_problem(validator_of(f"scenario#{tag}"), members)
    if error is not None:
        location = "".join(f"{shortened(str(part))}: " for part in error.instance_path)
        raise ScenarioError(f"{location}{shortened(message_of(error), 2 * LONGEST_QUOTE)}")
    return VOCABULARY.by_tag[tag]


def parse(text: str, table: Mapping[str, Operator] | None = None) -> Scenario:
    """Return the scenario that a text describes. Raises ScenarioError naming the line."""
    numbered = read_steps(text)
    try:
        return Scenario(tuple(step for _, step in numbered), table)
    except ScenarioError as error:
        line = None if error.step is None else numbered[error.step - 1][0]
        raise ScenarioError(error.rule, line=line) from None
