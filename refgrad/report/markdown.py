"""Templates that become Markdown."""

from __future__ import annotations

import re
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from refgrad.native.text import plain_text

LONGEST: Final = 200_000
"""Characters of a block of code."""


def markdown_templates() -> Environment:
    """Return the templates of this package, with their filters.

    ``plain`` is a text that is no markup, ``foreign`` one that an engine says, ``code`` is code in a cell, ``fenced``
    is a block of code, and ``anchor`` is where a heading is.
    """
    templates = Environment(  # noqa: S701 (Markdown, not HTML)
        loader=PackageLoader("refgrad.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["plain"] = _plain
    templates.filters["code"] = lambda text: str(text).replace("|", "\\|")
    templates.filters["foreign"] = _foreign
    templates.filters["fenced"] = _fenced
    templates.filters["anchor"] = lambda text: re.sub(r"[^\w-]", "", str(text).lower())
    return templates


def _plain(text: str) -> str:
    """Return a text in which Markdown sees no markup of HTML and no cell of a table."""
    return text.replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")


def _foreign(text: str) -> str:
    """Return a text of an engine, in which Markdown sees no link either."""
    return _plain(plain_text(text)).replace("](", "]\\(")


def _fenced(text: str) -> str:
    """Return a text that does not end the block of code that it stands in."""
    return plain_text(text.rstrip(), LONGEST).replace("```", "`\u200b`\u200b`")
