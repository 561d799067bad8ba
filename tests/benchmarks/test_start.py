"""What it costs to start the command, beside what it costs to start Python and do nothing.

    pytest -m benchmark_run -n 0 -s tests/benchmarks/test_start.py

Contestants take turns, and a ratio is one of the user time of all rounds, since a clock that ticks a hundred times a
second sees little of one.
"""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

pytestmark = pytest.mark.benchmark_run

ROUNDS = 30
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
    contestants = {"nothing": NOTHING, "click": CLICK, **runs}
    taken = dict.fromkeys(contestants, 0.0)
    for _ in range(ROUNDS):
        for name, arguments in contestants.items():
            taken[name] += seconds(*arguments)
    for name in ("click", *runs):
        print(f"{name}: {taken[name] / taken['nothing']:.1f} times Python alone")  # noqa: T201 (what is measured)
    assert {name: taken[name] / taken["click"] for name in runs if taken[name] > AIM * taken["click"]} == {}
