"""The error of a malformed scenario, and the parts of its message."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType

from refgrad.errors import UserError, shortened


class ScenarioError(UserError):
    """A violated rule, and its position: the line of a text, or the number of a step, both counted from 1."""

    def __init__(self, rule: str, step: int | None = None, line: int | None = None) -> None:
        """Set the violated rule, and its position if known."""
        super().__init__(rule, step, line)
        self.rule = rule
        self.step = step
        self.line = line

    def __str__(self) -> str:
        """Return the position, then the rule."""
        if self.line is not None:
            return f"line {self.line}: {self.rule}"
        if self.step is not None:
            return f"step {self.step}: {self.rule}"
        return self.rule


def quoted(value: object) -> str:
    """Return the repr of a value for a message, shortened if long."""
    if isinstance(value, str):
        return repr(shortened(value))
    try:
        return shortened(repr(value))
    except (ValueError, RecursionError):  # an integer of more than 4300 digits, or lists nested too deeply
        return f"a {type(value).__name__} too long to show"


def alternatives(words: Sequence[str]) -> str:
    """Return "a, b or c"."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def check_type(what: str, value: object, *kinds: type) -> None:
    """Raise ScenarioError if the type of a value is none of these; a bool is not an int."""
    if type(value) not in kinds:
        names = " or ".join("None" if kind is NoneType else kind.__name__ for kind in kinds)
        raise ScenarioError(f"{what} must be {names}, not {type(value).__name__}")
