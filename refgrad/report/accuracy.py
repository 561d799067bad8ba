"""The page of the results of ``refgrad accuracy``: the largest error of each operator and engine, and its point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from refgrad.oracles.judgement import ALLOWANCE
from refgrad.report.pages import markdown_templates


def accuracy_page(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return the page: a table for each engine, with the errors that rounding does not explain, then the largest."""
    tables = [
        sorted(each["worst"], key=lambda row: (row["budgets"] <= ALLOWANCE, -row["ulps"], row["operator"]))
        for each in documents
    ]
    page = markdown_templates().get_template("accuracy.md.jinja")
    return page.render(tables=list(zip(documents, tables, strict=True)), usual=ALLOWANCE)
