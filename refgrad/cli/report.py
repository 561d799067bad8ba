"""``refgrad report``: how do the results of runs become pages that people read?"""

from __future__ import annotations

from pathlib import Path

import click

from refgrad.cli.failure import told_in_one_line
from refgrad.report import write_pages


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path, file_okay=False))
def report(folders: tuple[Path, ...]) -> None:
    """Write pages beside the reports (*.json) in each folder: one an engine, a matrix, and a script a finding."""
    for folder in folders:
        with told_in_one_line():
            written = write_pages(folder)
        pages = sum(path.suffix == ".md" for path in written)
        click.echo(
            f"{folder}: {pages} pages and {len(written) - pages} scripts of findings; begin with {folder / 'README.md'}"
        )
