"""``refgrad coverage`` shows what is covered, and ends as its callers expect."""

from __future__ import annotations

import json

from refgrad.operators import operator_table
from tests.cli.conftest import Terminal


def test_each_engine_is_shown_with_how_much_of_the_table_it_has(terminal: Terminal) -> None:
    result = terminal.invoke("coverage", "toy:RIGHT", "toy:WRONG")
    assert result.exit_code == 0
    heads = [line for line in result.output.splitlines() if line and not line.startswith(" ")]
    total = len(operator_table())
    assert heads == [
        f"right unknown: has 3 of the {total} operators of the table",
        f"wrong unknown: has 4 of the {total} operators of the table",
    ]


def test_machines_get_json(terminal: Terminal) -> None:
    (document,) = json.loads(terminal.invoke("coverage", "--json", "toy:RIGHT").output)
    assert document["schema"] == "refgrad/coverage/1"
    assert document["families"]["broadcasting"]["has"] == ["add", "multiply"]
    assert document["inventories"] == []


def test_an_engine_that_cannot_be_started_is_exit_status_3(terminal: Terminal) -> None:
    result = terminal.invoke("coverage", "toy:ABSENT")
    assert result.exit_code == 3
    assert result.stderr.startswith("Error: engine 'absent' cannot be started: ModuleNotFoundError")


def test_an_engine_that_nobody_knows_is_wrong_usage(terminal: Terminal) -> None:
    result = terminal.invoke("coverage", "nobody")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: there is no engine 'nobody'; there are: ")


def test_no_engine_at_all_is_wrong_usage(terminal: Terminal) -> None:
    assert terminal.invoke("coverage").exit_code == 2
