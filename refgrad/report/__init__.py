"""Output of a run: documents (ENGINE.json), texts of verdicts, pages, and scripts of findings; its words and limits."""

from collections.abc import Mapping
from typing import Any, Final

from refgrad.documents import parsed_toml
from refgrad.specification import shipped_path

TABLE: Final[Mapping[str, Mapping[str, Any]]] = parsed_toml(shipped_path("texts", "report.toml"))
"""Words and limits of pages. ``REFGRAD_SPECS`` does not replace them."""

CHARACTERS: Final[Mapping[str, int]] = TABLE["characters"]
"""Largest numbers of characters of texts."""

ITEMS: Final[Mapping[str, int]] = TABLE["items"]
"""Largest numbers of items of lists."""
