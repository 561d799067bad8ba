"""``refgrad doctor`` tells what fails of an adapter, and ends as its callers expect."""

from __future__ import annotations

from tests.cli.conftest import Terminal


def test_an_adapter_that_works_ends_with_status_0(terminal: Terminal) -> None:
    result = terminal.invoke("doctor", "toy:RIGHT")
    assert result.exit_code == 0, result.output
    assert result.output.endswith("next: refgrad grade toy:RIGHT --profile smoke --output out\n")


def test_an_adapter_that_does_not_ends_with_status_1_and_says_which_template(terminal: Terminal) -> None:
    result = terminal.invoke("doctor", "toy:RIGHT", "toy:WRONG")
    assert result.exit_code == 1
    assert "operators." in result.output
    assert "mend:" in result.output


def test_an_engine_that_cannot_be_started_is_exit_status_3(terminal: Terminal) -> None:
    result = terminal.invoke("doctor", "toy:ABSENT")
    assert result.exit_code == 3
    assert result.stderr.startswith("Error: engine 'absent' cannot be started: ModuleNotFoundError")


def test_an_engine_that_nobody_knows_is_wrong_usage(terminal: Terminal) -> None:
    result = terminal.invoke("doctor", "nobody")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: there is no engine 'nobody'; there are: ")
