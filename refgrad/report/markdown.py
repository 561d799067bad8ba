"""Templates that become Markdown."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def markdown_templates() -> Environment:
    """Return the templates of this package; ``plain`` is a text that is no markup, and ``code`` is code in a cell."""
    templates = Environment(  # noqa: S701 (Markdown, not HTML)
        loader=PackageLoader("refgrad.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["plain"] = _plain
    templates.filters["code"] = lambda text: str(text).replace("|", "\\|")
    return templates


def _plain(text: str) -> str:
    """Return a text in which Markdown sees no markup of HTML and no cell of a table."""
    return text.replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")
