"""Many right kernels, each with random choices and random inputs, to count false alarms.

The journal has a line for each seed, so that a run that is stopped goes on where it stopped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.checking.low_precision.kernels import Choices
from tests.checking.low_precision.table import BACKWARDS, EVERY, outcome, rows

ORDERS = ("plain", "reversed", "chunks")
HIDDEN_SHARE = 8
"""One of so many kernels hides its operators."""


def drawn(seed: int) -> tuple[str, Any, Choices]:
    """Return the name of a kernel, the dtype of its inputs, and choices."""
    random = np.random.default_rng(seed)
    name, dtype = BACKWARDS[int(random.integers(len(BACKWARDS)))]
    inside, saved = (str(random.choice(["float32", "low"])) for _ in range(2))
    order, fused = str(random.choice(ORDERS)), bool(random.integers(2))
    if random.integers(HIDDEN_SHARE) == 0:
        return name, dtype, Choices(order=order, hidden=True, fused=fused)
    return name, dtype, Choices(inside, saved, order, fused=fused, constants=str(random.choice(["exact", "rounded"])))


def run(journal: Path, first: int, last: int) -> None:
    """Check the kernels of the seeds from ``first`` to ``last`` that the journal does not have, and append to it."""
    known = {row["seed"] for row in rows(journal)}
    with journal.open("a") as file:
        for seed in sorted(set(range(first, last)) - known):
            name, dtype, choices = drawn(seed)
            report = outcome(EVERY[name], choices, dtype, seed, contexts=())
            row = {"seed": seed, "kernel": name, "dtype": str(dtype)[6:], "outcome": report.outcome}
            if report.outcome != "right":
                row |= {"choices": str(choices), "text": str(report)}
            file.write(json.dumps(row) + "\n")
            file.flush()


def printed(journal: Path) -> Iterator[str]:
    """Yield how many kernels were called right, inconclusive and wrong, and each that was called wrong."""
    found = rows(journal)
    yield f"{len(found)} right runs: {dict(Counter(row['outcome'] for row in found))}\n"
    for row in found:
        if row["outcome"] == "wrong":
            yield f"{row}\n"
