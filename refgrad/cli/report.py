"""``refgrad report``: write the pages of results that people read."""

from __future__ import annotations

from pathlib import Path

import click

from refgrad.cli.failure import file_path, told_in_one_line
from refgrad.native.text import plain_line
from refgrad.report import write_pages


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=file_path)
def report(folders: tuple[Path, ...]) -> None:
    """Write pages beside the reports (*.json) in each folder: one an engine, a matrix, and a script a finding."""
    for folder in folders:
        with told_in_one_line():
            written = write_pages(folder)
        pages = sum(path.suffix == ".md" for path in written)
        scripts = len(written) - pages
        told = f"{folder}: {pages} pages and {scripts} scripts of findings; begin with {folder / 'README.md'}"
        click.echo(plain_line(told))
