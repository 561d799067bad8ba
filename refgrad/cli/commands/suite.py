"""Commands on the suite itself; their implementations are imported when they run."""

from __future__ import annotations

from typing import Literal, get_args

import click

Listed = Literal["operators", "engines", "checks", "features"]
"""Kinds of items that can be listed."""


@click.command(short_help="Show what a check asks of engines, and why.")
@click.argument("check", metavar="CHECK")
def explain(check: str) -> None:
    """Show what a check holds against an engine, why, what says so, and which scenarios or measurement test it."""
    from refgrad.cli.explain import explain_check

    explain_check(check)


@click.command(short_help="Remove the compiled templates of C++ engines.")
def clean() -> None:
    """Remove the folders of the temporary directory that hold compiled templates of C++ engines.

    A folder that a running engine uses is kept.
    """
    from refgrad.native.runners.compiled_cache import remove

    removed = remove()
    for path, size in removed.items():
        click.echo(f"removed {path}: {size:,} bytes")
    click.echo(f"{sum(removed.values()):,} bytes removed")


@click.command(name="list", short_help="Show operators, engines, checks or features.")
@click.argument("what", type=click.Choice(get_args(Listed)))
def listing(what: Listed) -> None:
    """Show what there is, one a line: name, signature or version or level, meaning."""
    from refgrad.cli.listing import show_list

    show_list(what)
