"""Run kernels into a journal, and print what it shows.

``table JOURNAL`` prints which faults the check finds, and which two usual comparisons find. ``right JOURNAL`` counts
right kernels that are called wrong. Two more arguments limit the runs to some numbers.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.checking.low_precision import right_runs, table

if __name__ == "__main__":
    kind, journal, *limits = sys.argv[1:]
    command = {"table": table, "right": right_runs}[kind]
    first, last = map(int, limits or (0, 100_000))
    command.run(Path(journal), first, last)
    sys.stdout.writelines(command.printed(Path(journal)))
