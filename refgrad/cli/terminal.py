"""What the command prints goes through here: control characters are escaped, wherever the text comes from."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from refgrad.native.text import escaped


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
