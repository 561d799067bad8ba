"""The command that writes the corpus: ``python -m refgrad.grading.corpus specs/corpus``."""

from __future__ import annotations

import argparse
from pathlib import Path

from refgrad.grading.corpus.files import write_corpus

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m refgrad.grading.corpus", description=write_corpus.__doc__)
    parser.add_argument("folder", type=Path)
    write_corpus(parser.parse_args().folder)
