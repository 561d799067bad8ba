"""The commands with their arguments and options."""

from __future__ import annotations

from typing import Final

from refgrad.cli.adapters.new import new
from refgrad.cli.commands.engines import accuracy, course, coverage, doctor, grade, replay, run
from refgrad.cli.commands.reports import badge, confirm, diff, report
from refgrad.cli.commands.suite import clean, explain, listing

ON_REPORTS: Final = (badge, confirm, diff, report)
COMMANDS: Final = (accuracy, clean, course, coverage, doctor, explain, grade, listing, new, replay, run, *ON_REPORTS)
