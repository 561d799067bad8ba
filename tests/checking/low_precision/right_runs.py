"""Many right kernels, each with random choices, a random size and random inputs, to count false alarms.

The journal has a line for each seed, so that a run that is stopped goes on where it stopped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.checking.low_precision.kernels import KERNELS, Choices, Kernel
from tests.checking.low_precision.table import DTYPES, outcome

ORDERS = ("plain", "reversed", "chunks")
HIDDEN_SHARE = 8
"""One of so many kernels hides its operators."""


def drawn(seed: int) -> tuple[str, Kernel, Choices, Any]:
    """Return a kernel with its name, choices, and a dtype."""
    random = np.random.default_rng(seed)
    name = str(random.choice(list(KERNELS)))
    inside, saved = (str(random.choice(["float32", "low"])) for _ in range(2))
    choices = Choices(inside, saved, str(random.choice(ORDERS)))
    if random.integers(HIDDEN_SHARE) == 0:
        choices = Choices(hidden=True, order=choices.order)
    return name, KERNELS[name], choices, DTYPES[int(random.integers(len(DTYPES)))]


def run(journal: Path, first: int, last: int) -> None:
    """Check the kernels of the seeds from ``first`` to ``last`` that the journal does not have, and append to it."""
    known = {row["seed"] for row in rows(journal)}
    with journal.open("a") as file:
        for seed in sorted(set(range(first, last)) - known):
            name, kernel, choices, dtype = drawn(seed)
            report = outcome(kernel, choices, dtype, seed, contexts=())
            row = {"seed": seed, "kernel": name, "dtype": str(dtype)[6:], "outcome": report.outcome}
            if report.outcome != "right":
                row |= {"choices": str(choices), "text": str(report)}
            file.write(json.dumps(row) + "\n")
            file.flush()


def rows(journal: Path) -> list[dict[str, Any]]:
    """Return the lines of a journal. The last may be cut off."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def printed(journal: Path) -> Iterator[str]:
    """Yield how many kernels were called right, inconclusive and wrong, and each that was called wrong."""
    found = rows(journal)
    yield f"{len(found)} right runs: {dict(Counter(row['outcome'] for row in found))}\n"
    for row in found:
        if row["outcome"] == "wrong":
            yield f"{row}\n"
