"""Print the page of the results of ``refgrad accuracy``.

refgrad accuracy torch jax --json > reports/accuracy/engines.json
python -m tests.report.accuracy_page reports/accuracy/engines.json > reports/accuracy.md
"""

import sys
from pathlib import Path

from refgrad.documents import read_json
from refgrad.report.accuracy import accuracy_page


def main() -> None:
    """Print the page of the documents in the given files."""
    documents = [each for name in sys.argv[1:] for each in read_json(Path(name), "accuracy")]
    sys.stdout.write(accuracy_page(documents))


if __name__ == "__main__":
    main()
