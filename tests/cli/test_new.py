"""``refgrad new`` writes an engine file that the next command takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from refgrad.cli.adapters import MEANINGS
from refgrad.grading.first_adapter.candidates import DIRECTIONS, OTHER_LANGUAGES
from refgrad.native.process import RunnerProcess
from tests.cli.conftest import Terminal
from tests.grading import scalar_tape

pytestmark = pytest.mark.turns(2)

MODULE = "tests.grading.first_adapter.small_tape"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "small.toml"


def test_what_was_found_is_asked_about_and_what_is_answered_is_written(terminal: Terminal, file: Path) -> None:
    result = terminal.invoke("new", MODULE, "--name", "small", "--output", str(file), standard_input="\n" * 5)
    assert result.exit_code == 0, result.output
    asked = [line.partition(" [")[0] for line in result.stderr.splitlines()]
    fields = ("leaf", "value", "kind", "backward", "gradient")
    assert asked == [f"{field}, {MEANINGS[field]}" for field in fields]
    assert f"left out: operators/sign: `{MODULE}.sign({{x}})` gives other numbers" in result.output
    assert f"next: refgrad doctor {file}" in result.output
    checked = terminal.invoke("doctor", str(file))
    assert f"operators.tanh = {MODULE}.tanh({{x}})" in checked.output
    assert "next: mend the first" in checked.output


def test_the_process_of_the_library_ends(terminal: Terminal, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes: list[RunnerProcess] = []
    start = RunnerProcess.__init__

    def starting(self: RunnerProcess, command: Sequence[str]) -> None:
        processes.append(self)
        start(self, command)

    monkeypatch.setattr(RunnerProcess, "__init__", starting)
    terminal.invoke("new", MODULE, "--output", str(file), "--yes")
    assert processes
    assert all(process.ended for process in processes)


def test_a_file_that_is_there_is_not_written_over(terminal: Terminal, file: Path) -> None:
    file.write_text("mine", encoding="utf-8")
    result = terminal.invoke("new", MODULE, "--output", str(file), "--yes")
    assert (result.exit_code, file.read_text(encoding="utf-8")) == (2, "mine")


def test_what_cannot_be_found_is_told_with_an_example(terminal: Terminal, file: Path) -> None:
    result = terminal.invoke("new", "textwrap", "--output", str(file), "--yes", "--set", "leaf=[{array}]")
    assert result.exit_code == 2
    assert "nothing that was tried works for value, how a tensor is read as an array; say it, such as" in result.stderr
    assert "`refgrad new textwrap --set 'value={x}.numpy()'`" in result.stderr
    assert not file.exists()


def test_nothing_answered_where_nothing_was_found_is_told_as_well(terminal: Terminal, file: Path) -> None:
    arguments = ("new", "textwrap", "--output", str(file), "--set", "leaf=[{array}]")
    result = terminal.invoke(*arguments, standard_input="\n" * 2)
    assert result.exit_code == 2
    assert "nothing that was tried works for value, how a tensor is read as an array; say it, such as" in result.stderr
    assert "`refgrad new textwrap --set 'value={x}.numpy()'`" in result.stderr


@pytest.mark.parametrize("arguments", [("./fake.js",), (MODULE, "--set", "language=javascript")])
def test_another_language_than_python_leads_to_the_guide(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    result = terminal.invoke("new", *arguments, "--yes")
    assert result.exit_code == 2
    assert result.stderr.endswith(f"{OTHER_LANGUAGES}\n")


def test_a_module_without_anything_names_those_beneath(terminal: Terminal, file: Path) -> None:
    (terminal.folder / "hollow").mkdir()
    (terminal.folder / "hollow" / "__init__.py").write_text("import math\n_version = 1\n")
    (terminal.folder / "hollow" / "engine.py").touch()
    (terminal.folder / "hollow" / "_hidden.py").touch()
    result = terminal.invoke("new", "hollow", "--output", str(file), "--yes")
    told = "hollow has nothing public; did you mean `refgrad new hollow hollow.engine`? There are: hollow.engine"
    assert (result.exit_code, result.stderr) == (2, f"Error: {told}\n")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("leaf={module}.Nope({{array}})", "has no attribute 'Nope'"),
        ("leaf={module}.Node({{arr}})", "unknown placeholder {arr}"),
        ("value={{x}}.dat", "has no attribute 'dat'"),
        ("gradient=-{{leaf}}.grad", "with backward = "),
    ],
)
def test_what_came_of_a_template_that_is_given_is_told(terminal: Terminal, file: Path, given: str, told: str) -> None:
    result = terminal.invoke("new", MODULE, "--output", str(file), "--yes", "--set", given.format(module=MODULE))
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_library_that_differentiates_nothing_leads_to_the_guide(terminal: Terminal, file: Path) -> None:
    result = terminal.invoke("new", "textwrap", "--output", str(file), "--yes")
    assert result.exit_code == 2
    assert "nothing that was tried works for kind" in result.stderr
    assert DIRECTIONS["kind"] in result.stderr


def test_a_module_that_is_not_there_is_exit_status_3(terminal: Terminal, file: Path) -> None:
    result = terminal.invoke("new", "nothing_of_this_name", "--output", str(file), "--yes")
    assert result.exit_code == 3
    assert "ModuleNotFoundError" in result.stderr


def test_a_field_without_its_template_is_wrong_usage(terminal: Terminal) -> None:
    assert terminal.invoke("new", MODULE, "--set", "leaf").exit_code == 2


def test_a_suspected_fault_is_reported_first_and_makes_no_policy(terminal: Terminal, file: Path) -> None:
    (terminal.folder / "assigning.py").write_text(scalar_tape.PRODUCT_ASSIGNS)
    result = terminal.invoke("new", "assigning", "--output", str(file), "--yes")
    assert result.exit_code == 0, result.output
    first, second, *_ = result.stdout.splitlines()
    assert first == (
        "suspected fault in multiply: backward from `(x * y) * x` at x = 1.5, y = 2.25: the gradient of x is 3.375, "
        "but the truth is 6.7500000000000000 (relative error 5.0e-01, 1.5e+15 times what rounding explains)"
    )
    assert second.startswith(f"{file}: ")
    assert "accumulates" not in file.read_text(encoding="utf-8")


def test_a_policy_that_right_gradients_show_is_written(terminal: Terminal, file: Path) -> None:
    (terminal.folder / "overwriting.py").write_text(scalar_tape.OVERWRITES)
    result = terminal.invoke("new", "overwriting", "--output", str(file), "--yes")
    assert result.exit_code == 0, result.output
    assert "suspected fault" not in result.output
    assert 'accumulates = "overwrites"' in file.read_text(encoding="utf-8")
