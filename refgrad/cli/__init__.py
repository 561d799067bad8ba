"""What is typed to grade an engine? The command ``refgrad``, a front of the checks that pytest runs.

Exit statuses: 0 every MUST holds, 1 some do not, 2 wrong usage, 3 an engine could not be started, 4 refgrad itself
failed, 130 interrupted.
"""

from __future__ import annotations

import click

from refgrad.cli.confirm import confirm
from refgrad.cli.coverage import coverage_command
from refgrad.cli.grade import grade
from refgrad.cli.listing import listing
from refgrad.cli.report import report
from refgrad.cli.run import run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="refgrad")
def main() -> None:
    """Hold automatic differentiation engines against what must happen."""


main.add_command(confirm)
main.add_command(coverage_command)
main.add_command(grade)
main.add_command(listing)
main.add_command(report)
main.add_command(run)
