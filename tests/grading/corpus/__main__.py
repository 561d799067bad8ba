"""Write the portable corpus: frozen scenarios with certified intervals, for engines that Python cannot reach.

``python -m tests.grading.corpus specs/corpus`` writes it. docs/how-to/test-without-python.md explains how to read it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.grading.corpus.files import write_corpus

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.grading.corpus", description=write_corpus.__doc__)
    parser.add_argument("folder", type=Path)
    write_corpus(parser.parse_args().folder)
