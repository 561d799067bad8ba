"""The errors that a user can do something about, and a part of their messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

LONGEST_SUGGESTED: Final = 40
LONGEST_QUOTE: Final = 60


class UserError(ValueError):
    """A file, a name or a scenario is not what it should be; the message says why in one line."""

    def __str__(self) -> str:
        r"""Return the message, in which the end of a line is written as ``\n``."""
        return super().__str__().replace("\n", "\\n")


class EngineStartError(RuntimeError):
    """An engine cannot be started, e.g. because it is not installed; the message says why and what to do."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ", did you mean ...?" when a known word is close to this one, else nothing."""
    matches = get_close_matches(word, known, n=1) if len(word) <= LONGEST_SUGGESTED else []
    return f", did you mean {matches[0]!r}?" if matches else ""


def shortened(text: str, length: int = LONGEST_QUOTE) -> str:
    """Return a text that fits in a message, cut where it is longer."""
    return text if len(text) <= length else f"{text[: length - 3]}..."
