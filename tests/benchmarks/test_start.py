"""What it costs to start the command, beside what it costs to start Python and do nothing.

    pytest -m benchmark_run -n 0 -s tests/benchmarks/test_start.py

Contestants take turns, and a ratio is the median over rounds of the ratio within a round, of user time.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from statistics import median

import pytest

pytestmark = pytest.mark.benchmark_run

ROUNDS = 15
NOTHING = ("-c", "pass")
CLICK = ("-c", "import click, importlib.metadata")
AIM = 2.0
"""Times what Python takes to load the library of command lines and the one that knows which packages there are."""

COMMANDS = (
    ("--help",),
    ("grade", "--help"),
    ("nonsense",),
    ("grade", "nonsense"),
    ("grade", "./no_such_engine.toml"),
    ("confirm", "no_such_file.json"),
)


def seconds(*arguments: str) -> float:
    """The user time of one run of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([sys.executable, *arguments], check=False, capture_output=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def test_a_command_that_has_nothing_to_do_starts_like_python_with_click() -> None:
    runs = {" ".join(command): ("-m", "refgrad", *command) for command in COMMANDS}
    rounds = [
        {name: seconds(*arguments) for name, arguments in {"nothing": NOTHING, "click": CLICK, **runs}.items()}
        for _ in range(ROUNDS)
    ]
    ratios = {name: median(taken[name] / taken["click"] for taken in rounds) for name in runs}
    for name in ("click", *runs):
        times = median(taken[name] / taken["nothing"] for taken in rounds)
        print(f"refgrad {name}: {times:.1f} times Python alone")  # noqa: T201 (what is measured)
    assert {name: ratio for name, ratio in ratios.items() if ratio > AIM} == {}
