"""Tests of ``refgrad accuracy``: its table, its JSON, and what it refuses."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from refgrad import __version__
from refgrad.cli import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["accuracy", *arguments])


def test_what_is_measured_is_shown_or_told_as_json() -> None:
    shown = run("refgrad", "--select", "exp*", "--select", "sin")
    assert shown.exit_code == 0
    assert f"## refgrad {__version__}, float64" in shown.output
    told = json.loads(run("refgrad", "--select", "sin", "--json").output)
    (document,) = told
    assert (document["engine"], document["dtype"]) == ("refgrad", "float64")
    assert {(each["operator"], each["of"]) for each in document["worst"]} == {("sin", "value"), ("sin", "slope by x")}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("refgrad", "--dtype", "bfloat16"), "engine 'refgrad' has no 'bfloat16'; it has "),
        (("refgrad", "--select", "matmul"), "engine 'refgrad' has no elementwise operator that is selected"),
        (("nobody",), "nobody"),
        (("refgrad", "--dtype", "int8"), "engine 'refgrad' has no 'int8'; it has float64, float32, float16"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments: tuple[str, ...], problem: str) -> None:
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert problem in refused.output
