"""The text form of a list of steps, with one line for each."""

from __future__ import annotations

from collections.abc import Iterable

from refgrad.errors import suggestion
from refgrad.scenario.errors import ScenarioError, quoted
from refgrad.scenario.steps.kinds import Apply
from refgrad.scenario.steps.step import Step
from refgrad.scenario.tokens import Cursor, tokenize
from refgrad.scenario.vocabulary import VOCABULARY


def write_steps(steps: Iterable[Step]) -> str:
    """Return one canonical line for each step."""
    return "".join(f"{step.to_text()}\n" for step in steps)


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
