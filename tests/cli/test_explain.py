"""``refgrad explain`` tells what a check asks without an engine."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from refgrad.cli.commands import COMMANDS
from refgrad.grading.checks.families import all_checks
from tests.cli.conftest import Terminal


@pytest.mark.parametrize(
    "name",
    ["edges/relu", "refgrad::leaves/unused_leaf_has_none", "claims/arrays", "scale/long_chain"],
    ids=["edge", "behaviour", "claim", "measurement"],
)
def test_a_check_is_explained(terminal: Terminal, snapshot: SnapshotAssertion, name: str) -> None:
    assert terminal.invoke("explain", name).stdout == snapshot


def test_every_check_can_be_explained(terminal: Terminal) -> None:
    one_of_each = {(type(check), check.chapter): check for check in all_checks()}
    for check in one_of_each.values():
        told = terminal.invoke("explain", check.id).stdout
        assert told.startswith(f"{check.id} ({check.level})\n{check.statement}\n")
        assert len(told.splitlines()) > 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("edges/rleu", "there is no check 'edges/rleu', did you mean 'edges/relu'?"),
        ("diag", "there is no check 'diag'; about the operator there are: operators/diag, second_order/diag, "),
        ("nonsense", "there is no check 'nonsense'; see `refgrad list checks`"),
    ],
)
def test_a_check_that_there_is_not_is_wrong_usage_with_what_may_be_meant(
    terminal: Terminal, name: str, message: str
) -> None:
    result = terminal.invoke("explain", name)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_list_of_commands_and_their_options_are_whole_sentences(terminal: Terminal) -> None:
    listed = terminal.invoke("--help").stdout.partition("Commands:\n")[2].splitlines()
    assert [line for line in listed if not line.endswith(".") or line.endswith("...")] == []
    for command in COMMANDS:
        assert (command.help or "").split("\n\n")[0].endswith((".", ":object."))
        helps = [getattr(each, "help", "") or "." for each in command.params]
        assert [text for text in helps if not text.endswith((".", "]."))] == []
