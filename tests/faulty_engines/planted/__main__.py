"""``python -m tests.faulty_engines.planted [JOURNAL]`` writes the table of planted faults to standard output.

What JOURNAL holds already is not graded again: a run that was ended goes on, and one of another commit needs another.
PyTorch and JAX must be installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.faulty_engines.planted.table import planted_table

if __name__ == "__main__":
    sys.stdout.writelines(planted_table(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
