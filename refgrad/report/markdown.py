"""Templates of Markdown pages."""

from __future__ import annotations

import re
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from refgrad.native.text import plain_text

LONGEST: Final = 200_000
"""Largest number of characters of a block of code."""


def markdown_templates() -> Environment:
    """Return the environment of the templates of this package, with their filters.

    ``plain`` escapes a text that is not markup, and ``foreign`` a text that comes from an engine. ``code`` escapes code
    in a cell of a table, ``fenced`` the content of a block of code. ``anchor`` returns the anchor of a heading.
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
    """Return a text on one line, escaped so that Markdown finds no HTML and no cell of a table in it."""
    return text.replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")


def _foreign(text: str) -> str:
    """Return a text of an engine, escaped so that Markdown finds no link in it either."""
    return _plain(plain_text(text)).replace("](", "]\\(")


def _fenced(text: str) -> str:
    """Return a text, escaped so that it does not end the block of code that contains it."""
    return plain_text(text.rstrip(), LONGEST).replace("```", "`\u200b`\u200b`")
