"""Conversion of an engine's text for display and storage: bounded in length, and without control characters.

An exception's message, a name or a line of output may hold anything. In a terminal an escape sequence changes what
stands around it, a bidirectional control character changes the order in which a line is read, and a lone surrogate
cannot be encoded in a file. A traceback in a message names folders of the machine, and the default representation of
an object contains its address.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

MOST_CHARACTERS: Final = 4000
"""Largest number of characters of one text. Of a longer one, the beginning and the end are kept."""

UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but for tab and newline, and C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u2028\u2029"  # separators of lines and paragraphs
    "\ud800-\udfff]"  # lone surrogates
)

INSTALLED: Final = re.compile(r"(?<![^\s\"'(])[^\s\"'(]*/(?=(?:(?:site|dist)-packages|node_modules)/)")
"""Pattern of the folder in which an engine is installed, which depends on the machine.

A match begins at the start of a word: trying every letter would take quadratic time.
"""

ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{8,}\b")
"""Pattern of the address of an object in memory, which differs between runs."""


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
    """A stream that escapes control characters and otherwise behaves as the stream that it wraps.

    It has no binary stream, through which output could bypass it.
    """

    buffer = None

    def __init__(self, stream: TextIO) -> None:
        """Wrap a stream. If its encoding is ASCII, as in the locale C, it is changed to UTF-8."""
        self.stream = stream
        if codecs.lookup(stream.encoding or "utf-8").name == "ascii" and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8")

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped stream."""
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
    finally:  # click replaces a stream whose reader has ended; that replacement stays
        sys.stdout, sys.stderr = (
            old if now is own else now for now, own, old in zip((sys.stdout, sys.stderr), plain, before, strict=True)
        )


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 (what two digits hold)


def _shortened(text: str, most: int) -> str:
    """Return a text of at most ``most`` characters; the middle of a longer one is replaced by a note."""
    if len(text) <= most:
        return text
    gap = f" [... {len(text)} characters in all ...] "
    kept = max(most - len(gap), 0)
    end = kept // 4
    return (text[: kept - end] + gap + text[len(text) - end :])[:most]
