"""The form in which text of an engine is shown and written: bounded, and without control characters.

An exception's message, a name or a line of output may hold anything. In a terminal an escape sequence changes what
stands around it, a bidirectional control character changes the order in which a line is read, and a lone surrogate
cannot be encoded in a file. A traceback that a message quotes names folders of the machine, and what Python prints of
an object its address.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

MOST_CHARACTERS: Final = 4000
"""The most characters of one text. Of a longer one, the beginning and the end are kept."""

UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but for tab and newline, and C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u2028\u2029"  # separators of lines and paragraphs
    "\ud800-\udfff]"  # lone surrogates
)

INSTALLED: Final = re.compile(r"(?<![^\s\"'(])[^\s\"'(]*/(?=(?:(?:site|dist)-packages|node_modules)/)")
"""Where an engine is installed: that is of the machine, not of the engine.

A match begins where a word does: to try each of its letters takes the square of its length.
"""

ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{8,}\b")
"""Where an object stands in memory: that is of one run."""


def plain_text(text: str, most: int = MOST_CHARACTERS) -> str:
    r"""Return a text of at most so many characters, in which control characters are written as ``\x1b`` or ``\u202e``.

    Tabs and newlines stay. Text that is plain already is returned as it is.
    """
    return _shortened(escaped(_shortened(text, most)), most)


def escaped(text: str) -> str:
    r"""Return a text in which control characters are written as ``\x1b`` or ``\u202e``. Tabs and newlines stay."""
    return UNSAFE.sub(_escape, text)


def plain_line(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a plain text in one line: each run of white space is one space."""
    return " ".join(plain_text(text, most).split())


def repeatable_text(text: str) -> str:
    """Return a text without folders above ``site-packages/`` or ``node_modules/``, and without addresses in memory."""
    return ADDRESS.sub("0x...", INSTALLED.sub("", text))


class PlainStream:
    """A stream that writes control characters as escapes; all else is that of the stream below.

    It has no binary stream, by which what is written could go around it.
    """

    buffer = None

    def __init__(self, stream: TextIO) -> None:
        """Write to a stream. One that is of ASCII, as in the locale C, becomes one of UTF-8."""
        self.stream = stream
        if codecs.lookup(stream.encoding or "utf-8").name == "ascii" and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8")

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the stream below."""
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write a text, and return its length."""
        self.stream.write(escaped(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)


@contextmanager
def plain_streams() -> Iterator[None]:
    """Escape control characters on standard output and standard error."""
    before = sys.stdout, sys.stderr
    plain: tuple[Any, Any] = PlainStream(before[0]), PlainStream(before[1])
    sys.stdout, sys.stderr = plain
    try:
        yield
    finally:  # click replaces a stream whose reader has ended; such a one stays
        sys.stdout, sys.stderr = (
            old if now is own else now for now, own, old in zip((sys.stdout, sys.stderr), plain, before, strict=True)
        )


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 (what two digits hold)


def _shortened(text: str, most: int) -> str:
    """Return the beginning and the end of a text that is too long, and between them how much was left out."""
    if len(text) <= most:
        return text
    gap = f" [... {len(text)} characters in all ...] "
    kept = max(most - len(gap), 0)
    end = kept // 4
    return (text[: kept - end] + gap + text[len(text) - end :])[:most]
