"""The commands with their arguments and options."""

from __future__ import annotations

from typing import Final

from refgrad.cli.adapters.new import new
from refgrad.cli.commands.engines import accuracy, coverage, doctor, grade, replay, run
from refgrad.cli.commands.reports import badge, confirm, diff, report
from refgrad.cli.commands.suite import explain, listing

COMMANDS: Final = (accuracy, badge, confirm, coverage, diff, doctor, explain, grade, listing, new, replay, report, run)
