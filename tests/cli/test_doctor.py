"""``refgrad doctor`` tells what fails of an adapter, and ends as its callers expect."""

from __future__ import annotations

from typing import Final

from tests.cli.conftest import Terminal
from tests.grading import scalar_tape

ADAPTER: Final = """
kind = "tape"
extends = ["python-operators"]
without = ["power", "subtract", "divide", "negative"]
leaf = "Value({array})"
value = "{x}.data"
backward = "{output}.backward()"
gradient = "{leaf}.grad"
zero_grad = "setattr({leaf}, 'grad', 0)"

[policy]
frees = "never"
implicit_seed = "ones"
keeps = "all"

[operators]
tanh = ["{x}.tanh()"]
"""
SUM: Final = 'sum = ["{x}.sum(axis={axis}, keepdims={keepdims})"]\n'


def checked(terminal: Terminal, setup: str, adapter: str = ADAPTER) -> tuple[int, list[str]]:
    """Return the exit status for an engine with this source, and the lines."""
    (terminal.folder / "mine.toml").write_text(f'name = \'mine\'\nsetup = """{setup}"""\n{adapter}')
    result = terminal.invoke("doctor", "./mine.toml")
    return result.exit_code, result.output.splitlines()


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


def test_a_suspected_fault_is_the_first_line(terminal: Terminal) -> None:
    scalars = ADAPTER.replace("array", "scalar").replace("value =", "scalars_only = true\nvalue =")
    status, lines = checked(terminal, scalar_tape.PRODUCT_ASSIGNS, scalars)
    assert status == 1
    assert lines[0] == (
        "suspected fault in multiply: backward from `(x * y) * x` at x = 1.5, y = 2.25: the gradient of x is 3.375, "
        "but the truth is 6.7500000000000000 (relative error 5.0e-01, 1.5e+15 times what rounding explains)"
    )
    assert lines[1:] == [
        "./mine.toml: 10 templates in 8 trials, 0 of which it refuses; 1 fail",
        "next: mend the first, and try again; what is the library's own fault stays, and is for a report to tell",
    ]


def test_gradients_of_arrays_are_tried_through_a_sum(terminal: Terminal) -> None:
    status, lines = checked(terminal, scalar_tape.DOUBLED_TANH, ADAPTER + SUM)
    at = lines.index("operators.tanh = {x}.tanh()")
    assert status == 1
    assert lines[at + 2] == "  ran:  print(x1.grad)  # gradient of x1"
    assert lines[at + 3].startswith("  got:  wrong: ")


NOTE: Final = "note: the engine takes no seed and has no `sum`, so gradients of arrays cannot be tried: add one of them"


def test_that_there_is_no_sum_is_noted(terminal: Terminal) -> None:
    assert checked(terminal, scalar_tape.ARRAYS)[1][-2] == NOTE


def test_a_sum_is_not_noted_as_absent(terminal: Terminal) -> None:
    assert NOTE not in checked(terminal, scalar_tape.ARRAYS + scalar_tape.SUM, ADAPTER + SUM)[1]
