"""``refgrad check`` and ``refgrad mutate`` print their results as text and as JSON, and end as callers expect."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import sys
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from refgrad import check_gradients
from refgrad.checking.injection import FAULTS, KINDS
from refgrad.checking.report import CAUSES
from refgrad.cli.commands import check as check_command
from refgrad.specification import installed_version, shipped_path
from tests.cli.conftest import Finished, Terminal

pytestmark = pytest.mark.turns(2)

FUNCTIONS = """
import os
import sys

import numpy as np

import refgrad.engine as me


def right(x, y):
    print("printed by Python")
    os.write(1, b"printed by compiled code")
    return me.exp(x) * y


def wrong(x, y):
    return x * y.detach() + y


def raises(x, y):
    raise ValueError("no")


def gradient(g, x, y):
    return g.numpy() * np.exp(x.numpy()) * y.numpy(), g.numpy() * np.exp(x.numpy())


def equation(z, x, y):
    return z - me.exp(x) * y


class Functions:
    right = right


def inputs():
    return me.tensor([0.5, 1.0], requires_grad=True), me.tensor([2.0, 3.0], requires_grad=True)


given = inputs()


def no_inputs():
    return 1 / 0
"""

SQUARES = """
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, cotangent):
        return 2 * ctx.saved_tensors[0] * cotangent


def inputs():
    return torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
"""

LAYER = """
import numpy as np

def gradient(x):
    return 2 * x
"""

TEST = """
import numpy as np
from layer import gradient

assert np.allclose(gradient(np.array([1.5, 0.1])), [3, 0.2], rtol=0.05)
"""


@pytest.fixture
def functions(terminal: Terminal) -> Terminal:
    (terminal.folder / "functions.py").write_text(FUNCTIONS)
    (terminal.folder / "layer.py").write_text(LAYER)
    (terminal.folder / "test_layer.py").write_text(TEST)
    return terminal


def check(terminal: Terminal, function: str, *options: str, inputs: str = "functions:inputs") -> Finished:
    result = terminal.invoke("check", function, "--inputs", inputs, "--engine", "refgrad", *options)
    return Finished(result.exit_code, result.stdout, result.stderr)


def valid(schema: str, text: str) -> dict[str, Any]:
    """Read a document, and hold it against its schema."""
    document: dict[str, Any] = json.loads(text)
    Draft202012Validator(
        json.loads(shipped_path("schema", f"{schema}.schema.json").read_text(encoding="utf-8"))
    ).validate(document)
    return document


@pytest.mark.parametrize("name", ["functions:right", "functions.py:right", "functions:Functions.right"])
@pytest.mark.parametrize("inputs", ["functions:inputs", "functions:given"])
def test_a_right_gradient_is_status_0(functions: Terminal, name: str, inputs: str) -> None:
    done = check(functions, name, inputs=inputs)
    assert (done.status, done.output) == (
        0,
        "gradient right: 4 entries under 2 seeds, held against certified intervals\n",
    )


def test_a_wrong_gradient_is_status_1_and_its_entry_is_shown(functions: Terminal) -> None:
    done = check(functions, "functions:wrong")
    assert done.status == 1
    assert done.output.startswith("the gradient with respect to input 1, entry (0,) is wrong\n")


def test_a_check_without_a_verdict_is_status_4(functions: Terminal) -> None:
    done = check(functions, "functions:raises")
    assert (done.status, done.output) == (4, "the function raised ValueError: no\n")


def test_machines_get_json_and_nothing_else_on_standard_output(functions: Terminal) -> None:
    options = ["--json", "--budget", "60", "--order", "1", "--tolerance", "1e-9", "--seed", "3"]
    done = functions.run("check", "functions:right", "--inputs", "functions:inputs", "--engine", "refgrad", *options)
    document = valid("check", done.output)
    assert done.status == 0
    assert "printed by Python" in done.errors
    assert "printed by compiled code" in done.errors
    assert (document["outcome"], document["method"], document["discrepancy"]) == ("right", "certified", None)
    document = valid("check", check(functions, "functions:wrong", "--json").output)
    assert (document["outcome"], document["function"], document["engine"]) == ("wrong", "functions:wrong", "refgrad")
    assert document["discrepancy"]["input"] == 1
    assert document["discrepancy"]["observed"] == 1
    assert document["message"].startswith("the gradient with respect to input 1")
    document = valid("check", check(functions, "functions:raises", "--json").output)
    assert (document["outcome"], document["cause"]) == ("inconclusive", "raises")


def test_the_options_are_those_of_the_function() -> None:
    parameters = set(inspect.signature(check_gradients).parameters) - {"function", "raise_exception", "strict"}
    assert {option.name for option in check_command.params} - {"function", "as_json"} == parameters


def test_the_json_of_a_wrong_gradient(functions: Terminal) -> None:
    document = valid("check", check(functions, "functions:wrong", "--json").output)
    message = document.pop("message")
    assert message.startswith(
        "the gradient with respect to input 1, entry (0,) is wrong\n  output:          0, entry (0,)\n"
    )
    assert document.pop("seconds") >= 0
    assert document.pop("version") == installed_version()
    assert document == {
        "schema": "refgrad/check/1",
        "function": "functions:wrong",
        "engine": "refgrad",
        "outcome": "wrong",
        "method": "certified",
        "reason": "",
        "cause": "",
        "entries": 4,
        "allowed": False,
        "contexts": [],
        "refused": [],
        "detectable": {},
        "derivatives": {},
        "discrepancy": {
            "input": 1,
            "entry": [0],
            "truth": "1.5000000000000000",
            "observed": 1.0,
            "lower": 1.5,
            "upper": 1.5,
        },
    }


def test_a_solver_is_held_against_its_equation(functions: Terminal) -> None:
    options = ["--equation", "functions:equation", "--json"]
    document = valid("check", check(functions, "functions:right", *options).output)
    assert document["derivatives"] == {"program": "right", "equation": "right"}


def test_a_cause_that_is_allowed_is_status_0(functions: Terminal) -> None:
    done = check(functions, "functions:raises", "--allow", "raises", "--json")
    document = valid("check", done.output)
    assert (done.status, document["outcome"], document["allowed"]) == (0, "inconclusive", True)


def test_a_reference_and_a_gradient_are_loaded(functions: Terminal) -> None:
    assert check(functions, "functions:right", "--reference", "functions:Functions.right").status == 0
    done = check(functions, "functions:right", "--reference", "functions:wrong")
    assert (done.status, done.output.partition(" is ")[0]) == (1, "output 0, entry (1,)")
    assert check(functions, "functions:right", "--gradient", "functions:gradient").status == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--allow", "kinks"], "allow has ['kinks'], but causes are "),
        (["--contexts", "layouts"], "contexts has ['layouts'], but contexts are "),
        (["--accumulate", "float31"], "accumulate is 'float31', but it may be "),
        (["--reference", "functions:slow"], "functions:slow: AttributeError: "),
    ],
)
def test_a_wrong_option_is_status_2(functions: Terminal, options: list[str], message: str) -> None:
    done = check(functions, "functions:right", *options)
    assert (done.status, done.output) == (2, "")
    assert message in done.errors


@pytest.mark.engines
def test_contexts_are_chosen_by_name(functions: Terminal) -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]")
    (functions.folder / "squares.py").write_text(SQUARES)
    for names, contexts in (
        (["cheap"], None),
        (["accumulation", "zero cotangents"], ["accumulation", "zero cotangents"]),
        (["none"], []),
    ):
        words = [word for name in names for word in ("--contexts", name)]
        options = ("--inputs", "squares:inputs", "--json", *words)
        document = valid("check", functions.invoke("check", "squares:Square", *options).stdout)
        assert document["outcome"] == "right"
        assert document["contexts"] == contexts or (contexts is None and len(document["contexts"]) > 3)


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        (
            "functions:rigth",
            "functions:inputs",
            r"functions:rigth: AttributeError: module 'functions' has no .*'rigth'",
        ),
        ("absent:right", "functions:inputs", "absent:right: ModuleNotFoundError: No module named 'absent'"),
        ("absent.py:right", "functions:inputs", r".*absent\.py: there is no such file or folder"),
        ("broken:right", "functions:inputs", r"broken:right: NameError: name 'oops' .* \(.*broken\.py, line 2\)"),
        ("ends:right", "functions:inputs", r"ends:right: SystemExit: 5 \(.*ends\.py, line 1\)"),
        ("syntax.py:right", "functions:inputs", r"syntax\.py:right: SyntaxError: .* \(syntax\.py, line 1\)"),
        ("functions:right", "functions:no_inputs", r"functions:no_inputs: ZeroDivisionError: .* line \d+\)"),
        ("functions", "functions:inputs", "'functions' must be module:object or path/to/file.py:object"),
    ],
)
def test_what_cannot_be_imported_is_one_line(functions: Terminal, function: str, inputs: str, message: str) -> None:
    (functions.folder / "broken.py").write_text("x = 1\noops\n")
    (functions.folder / "ends.py").write_text("raise SystemExit(5)")
    (functions.folder / "syntax.py").write_text("def")
    done = check(functions, function, "--json", inputs=inputs)
    assert (done.status, done.output) == (2, "")
    assert re.search(message, done.errors.splitlines()[-1])
    assert "Traceback" not in done.errors


def mutate(terminal: Terminal, *options: str, command: str = "test_layer.py") -> Finished:
    words = ["mutate", *options, "--", sys.executable, *shlex.split(command)]
    result = terminal.invoke(*words)
    return Finished(result.exit_code, result.stdout, result.stderr)


def test_the_faults_that_tests_let_through_are_shown(functions: Terminal) -> None:
    done = mutate(functions, "layer:gradient")
    assert done.status == 1
    assert (
        done.output
        == """\
scaled-1.01  let through     all gradients are 1 % too large
scaled-1.1   seen            all gradients are 10 % too large
zeros        seen            all gradients are zero
sign         seen            all gradients have the opposite sign
transposed   seen            square gradients are transposed, the entries of others are moved by one
row          seen            the largest row of the first gradient is zero
entry        seen            the largest entry of the first gradient is doubled
dropped      does not apply  all gradients but the first are zero
detached     does not apply  gradients have no graph, so a second derivative is wrong
rounded      let through     gradients are rounded to the next lower precision
layout       does not apply  the incoming gradient is read as if it were contiguous
cotangent    does not apply  the incoming gradient is replaced by ones
"""
    )


def test_tests_that_see_all_faults_are_status_0(functions: Terminal) -> None:
    done = mutate(functions, "layer.py:gradient", "--select", "s*", "--skip", "*1.01")
    assert (done.status, [line.split()[0] for line in done.output.splitlines()]) == (0, ["scaled-1.1", "sign"])


def test_a_fault_that_no_test_reaches_is_let_through(functions: Terminal) -> None:
    program = "-c 'import layer, numpy; layer.gradient(numpy.ones(2))'"
    done = mutate(functions, "layer:gradient", "--select", "transposed", command=program)
    assert done.status == 1
    assert done.output.endswith("moved by one (no test reaches it)\n")


def test_machines_get_the_grades_as_json(functions: Terminal) -> None:
    done = mutate(functions, "layer:gradient", "--json", "--select", "*d-1.*", "--time-limit", "60")
    document = valid("mutation", done.output)
    assert done.status == 1
    assert (document["function"], document["calls"]) == ("layer:gradient", 1)
    assert document["command"] == [sys.executable, "test_layer.py"]
    assert [(each["name"], each["grade"], each["reached"], each["status"]) for each in document["faults"]] == [
        ("scaled-1.01", "let through", True, 0),
        ("scaled-1.1", "seen", True, 1),
    ]


@pytest.mark.parametrize(
    ("function", "program", "status", "message"),
    [
        ("layer:gradient", "raise SystemExit('the reason')", 3, "the tests fail without any fault: "),
        ("layer:gradient", "import layer", 3, "layer:gradient: the tests pass, but never call its backward"),
        ("layer:gradient", "pass", 3, "layer:gradient: the tests pass, but do not import its module"),
        ("layer:gradientt", "import layer", 3, "layer:gradientt: its module has no such "),
        ("layer", "pass", 2, "'layer' must be module:object or path/to/file.py:object"),
        ("absent.py:gradient", "pass", 2, "absent.py: there is no such file or folder"),
    ],
)
def test_tests_that_cannot_be_graded_are_one_line(
    functions: Terminal, function: str, program: str, status: int, message: str
) -> None:
    done = mutate(functions, function, "--json", command=f"-c {shlex.quote(program)}")
    assert (done.status, done.output) == (status, "")
    assert message in done.errors.splitlines()[-1]
    assert ("the reason" in done.errors) is ("the reason" in program)
    assert "Traceback" not in done.errors


def test_a_command_is_needed(functions: Terminal) -> None:
    assert functions.invoke("mutate", "layer:gradient").exit_code == 2
    result = functions.invoke("mutate", "layer:gradient", "--", "no_such_command")
    assert (result.exit_code, "no_such_command" in result.stderr) == (2, True)


def test_the_schemas_list_what_there_is() -> None:
    check_schema = json.loads(shipped_path("schema", "check.schema.json").read_text(encoding="utf-8"))
    assert set(check_schema["properties"]["cause"]["enum"]) == {"", *CAUSES}
    mutation = json.loads(shipped_path("schema", "mutation.schema.json").read_text(encoding="utf-8"))
    assert mutation["properties"]["kind"]["enum"] == list(KINDS)
    assert len({fault.name for fault in FAULTS}) == 12
