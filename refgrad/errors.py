"""Errors that a user can fix, and helpers for their messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

LONGEST_SUGGESTED: Final = 40
LONGEST_QUOTE: Final = 60


class UserError(ValueError):
    """Error for an invalid file, name or scenario; the message gives the reason in one line."""

    def __str__(self) -> str:
        r"""Return the message, with line ends written as ``\n``."""
        return super().__str__().replace("\n", "\\n")


class EngineStartError(RuntimeError):
    """Error for an engine that cannot be started, e.g. not installed; the message gives the reason and a remedy."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ", did you mean ...?" if a known word is close to this one, else an empty string."""
    matches = get_close_matches(word, known, n=1) if len(word) <= LONGEST_SUGGESTED else []
    return f", did you mean {matches[0]!r}?" if matches else ""


def shortened(text: str, length: int = LONGEST_QUOTE) -> str:
    """Return the text, cut to ``length`` characters if it is longer."""
    return text if len(text) <= length else f"{text[: length - 3]}..."
