"""``refgrad confirm`` runs the programs of a report by themselves."""

from __future__ import annotations

from tests.cli.conftest import Terminal
from tests.report.example import write_example


def test_a_program_that_shows_the_number_confirms_its_finding(terminal: Terminal) -> None:
    write_example(terminal.folder)
    result = terminal.invoke("confirm", "example.json")
    assert result.stdout == "example.json: 1 findings, 1 confirmed\n"
    assert result.stderr.startswith("Running 1 programs that stand in example.json, as they are")
    assert result.exit_code == 0


def test_a_program_that_shows_something_else_is_told_with_what_it_shows(terminal: Terminal) -> None:
    path = write_example(terminal.folder)
    text = path.read_text().replace("the gradient of x is 0.1,", "the gradient of x is 0.7,")
    path.write_text(text.replace('"observed": "0.1"', '"observed": "0.7"'))
    result = terminal.invoke("confirm", "example.json")
    assert result.stdout.splitlines() == [
        "operators/exp: not confirmed",
        "  the report:  The gradient of `exp(x)` with respect to `x` at x = 1.5 is 4.48; example gives 0.7.",
        "  its program: [0.1                0.3333333333333333]",
        "example.json: 1 findings, 1 not confirmed",
    ]
    assert result.exit_code == 1


def test_an_interpreter_that_is_not_there_is_wrong_usage(terminal: Terminal) -> None:
    write_example(terminal.folder)
    result = terminal.invoke("confirm", "example.json", "--python", "no-such-python")
    assert result.exit_code == 2
    assert result.stderr.endswith("Error: 'no-such-python' cannot be run: No such file or directory\n")


def test_a_file_that_is_not_there_is_wrong_usage(terminal: Terminal) -> None:
    result = terminal.invoke("confirm", "nothing.json")
    assert result.exit_code == 2
    assert result.stderr == "Error: nothing.json: there is no such file or folder\n"


def test_a_folder_in_place_of_a_report_is_wrong_usage(terminal: Terminal) -> None:
    result = terminal.invoke("confirm", ".")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: .: cannot be read: it is not a regular file")


def test_an_engine_that_is_not_installed_could_not_be_run(terminal: Terminal) -> None:
    path = write_example(terminal.folder)
    path.write_text(path.read_text().replace("import numpy as np", "import no_such_engine as np"))
    result = terminal.invoke("confirm", "example.json")
    assert result.stdout.splitlines()[0] == "operators/exp: could not be run"
    hint = "nothing of example.json could be run: name the interpreter that has the engine with --python"
    assert result.stderr.splitlines()[1:] == [hint]
    assert result.exit_code == 1


def test_a_program_that_shows_nothing_is_told_to_end_without_an_error(terminal: Terminal) -> None:
    path = write_example(terminal.folder)
    path.write_text(path.read_text().replace("print(", "str("))
    result = terminal.invoke("confirm", "example.json")
    assert "  its program: ends without an error" in result.stdout.splitlines()
