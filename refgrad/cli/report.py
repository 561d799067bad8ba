"""``refgrad report``: write pages about results for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from refgrad.cli.failure import told_in_one_line
from refgrad.report.pages import write_pages
from refgrad.report.site import write_site


def write_reports(folders: Sequence[Path]) -> None:
    """Write the pages of each folder, and print their number."""
    for folder in folders:
        with told_in_one_line():
            written = write_pages(folder)
        pages = sum(path.suffix == ".md" for path in written)
        scripts = len(written) - pages
        click.echo(f"{folder}: {pages} pages and {scripts} scripts of findings; begin with {folder / 'README.md'}")


def write_html(folders: Sequence[Path], target: Path, docs: Path | None = None) -> None:
    """Write the site of the last folder, with the changes since the earlier ones, and print its first page.

    The documents in the folder ``docs`` become pages of it, too.
    """
    *earlier, newest = folders
    with told_in_one_line():
        written = write_site(newest, target, earlier, docs)
    click.echo(f"{target}: {len(written)} pages; begin with {written[0]}")
