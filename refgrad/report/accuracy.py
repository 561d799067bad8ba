"""The page of the results of ``refgrad accuracy``: the largest error of each operator and engine, and its point.

refgrad accuracy torch jax --json > reports/accuracy/engines.json
python -m refgrad.report.accuracy reports/accuracy/engines.json > reports/accuracy.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from refgrad.documents import read_json

HEAD: Final = """\
# Accuracy of elementwise operators

The largest error that was found of each value and slope, in units of the last place (ulps), and the point where it was
met; in brackets how often it is what rounding the operands and each step of the formula explains. First come those
that rounding does not explain. Where the truth overflows, underflows or is zero nothing is counted. What is within
{usual:g} ulps is not shown.
"""

USUAL: Final = 4.0
"""Largest error in ulps that is not listed, and largest error in rounding budgets that rounding explains."""


def accuracy_page(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return the page: a table for each engine, with the errors that rounding does not explain, then the largest."""
    return "\n".join([HEAD.format(usual=USUAL), *(line for document in documents for line in _table(document))]) + "\n"


def _table(document: Mapping[str, Any]) -> Iterator[str]:
    worst = sorted(document["worst"], key=lambda each: (each["budgets"] <= USUAL, -each["ulps"], each["operator"]))
    shown = [each for each in worst if each["ulps"] > USUAL]
    yield f"## {document['engine']} {document['version']}, {document['dtype']}"
    yield ""
    yield f"{len(worst) - len(shown)} of {len(worst)} values and slopes are within {USUAL:g} ulps at all points tried."
    yield ""
    if not shown:
        return
    yield "| operator | | ulps | at | shown | truth |"
    yield "|---|---|---:|---|---|---|"
    for each in shown:
        place = ", ".join(f"{name} = {number!r}" for name, number in each["at"].items())
        yield (
            f"| {each['operator']} | {each['of']} | {each['ulps']:.3g} ({each['budgets']:.2g}) | {place} "
            f"| {each['seen']!r} | {each['truth']!r} |"
        )
    yield ""


def main() -> None:
    """Print the page of the documents in the given files."""
    documents = [each for name in sys.argv[1:] for each in read_json(Path(name), "accuracy")]
    sys.stdout.write(accuracy_page(documents))


if __name__ == "__main__":
    main()
