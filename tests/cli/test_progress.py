"""What a command is doing is shown on a terminal alone, and on standard error."""

from __future__ import annotations

from pathlib import Path

import pytest

from refgrad.cli.progress import doing
from tests.cli.conftest import Terminal

pytestmark = pytest.mark.turns(2)

SMALL = "tests.grading.first_adapter.small_tape"


@pytest.fixture
def as_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


def test_nothing_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with doing("starting tiny") as now:
        now.report("trying exp")
        with now.paused():
            pass
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("as_terminal")
def test_what_is_done_is_shown_as_it_stands_and_not_while_the_user_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with doing("starting tiny") as now:
        now.report("trying [exp]")
        assert "trying [exp]" in capsys.readouterr().err
        with now.paused():
            capsys.readouterr()
            now.report("trying sin")
            assert "trying sin" not in capsys.readouterr().err


@pytest.mark.usefixtures("as_terminal")
def test_doctor_tells_what_was_tried(terminal: Terminal) -> None:
    result = terminal.invoke("doctor", "toy:RIGHT")
    assert "tried leaf, value on a number" in result.stderr
    assert "tried leaf" not in result.stdout


@pytest.mark.usefixtures("as_terminal")
def test_new_tells_what_it_tries(terminal: Terminal, tmp_path: Path) -> None:
    result = terminal.invoke("new", SMALL, "--yes", "--output", str(tmp_path / "small.toml"))
    assert "trying the gradient of tanh" in result.stderr
    assert "trying" not in result.stdout
