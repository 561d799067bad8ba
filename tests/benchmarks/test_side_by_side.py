"""Two checkouts are compared row by row, and one that fails is no time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.benchmarks.side_by_side import PYTHON, Row, compared, taken

SPIN = "import time; end = time.process_time() + {}\nwhile time.process_time() < end: pass"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with an interpreter where a checkout has one."""
    python = tmp_path / PYTHON
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    return tmp_path


def test_a_row_has_the_seconds_of_clock_and_processors(checkout: Path) -> None:
    seconds = taken(checkout, Row("spin", (PYTHON, "-c", SPIN.format(0.3))))
    assert 0.3 <= seconds.processors <= 2 * seconds.clock
    assert str(seconds).count(" s (") == 1


def test_the_ratio_is_that_of_the_clocks(checkout: Path) -> None:
    line = compared(Row("spin", (PYTHON, "-c", SPIN.format("0.2")), rounds=2), checkout, checkout)
    name, theirs, ours, ratio = line.strip("| ").split(" | ")
    assert name == "spin"
    assert float(ratio) == pytest.approx(float(ours.split()[0]) / float(theirs.split()[0]), rel=0.05)


def test_what_fails_is_no_time(checkout: Path) -> None:
    with pytest.raises(RuntimeError, match=r"'ends' exits with 3 .*no engine"):
        taken(checkout, Row("ends", (PYTHON, "-c", "import sys; print('no engine'); sys.exit(3)")))
    assert taken(checkout, Row("ends", (PYTHON, "-c", "raise SystemExit(3)"), endings=(3,))).clock > 0
