"""Commands on the suite itself: what they show is imported when they run."""

from __future__ import annotations

from typing import Literal, get_args

import click

Listed = Literal["operators", "engines", "checks", "features"]
"""What can be listed."""


@click.command(name="list")
@click.argument("what", type=click.Choice(get_args(Listed)))
def listing(what: Listed) -> None:
    """Show what there is, one a line: name, signature or version or level, meaning."""
    from refgrad.cli.listing import show_list

    show_list(what)
