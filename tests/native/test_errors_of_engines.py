"""Errors that engines raise become data, whatever their classes do."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.native.observation import Raised, read_answer
from refgrad.native.runners.python_runner import LONGEST_MESSAGE, raised


class MuteError(ValueError):
    """An error that cannot say what it is about."""

    def __str__(self) -> str:
        raise KeyError


class LeavingError(ValueError):
    """An error that would end the process if its text were asked for."""

    def __str__(self) -> str:
        raise SystemExit(0)


class DeeperError(RecursionError):
    """A subclass of an error about exhaustion."""


def seen(error: BaseException) -> Raised:
    """Return an error as it arrives from a runner."""
    found = read_answer(raised(error)).error
    assert found is not None
    return found


def test_an_error_is_its_class_its_message_and_its_bases() -> None:
    found = seen(DeeperError("too deep"))
    assert (found.type, found.message, found.text) == ("DeeperError", "too deep", "DeeperError: too deep")
    assert found.bases == ("DeeperError", "RecursionError", "RuntimeError", "Exception", "BaseException", "object")


@pytest.mark.parametrize(("error", "reason"), [(MuteError(), "KeyError"), (LeavingError(), "SystemExit")])
def test_an_error_that_cannot_be_printed_is_described_all_the_same(error: Exception, reason: str) -> None:
    assert seen(error).message == f"its message cannot be read: {reason}"


@given(st.text(st.characters(), max_size=3 * LONGEST_MESSAGE))
def test_what_is_kept_of_a_message_is_bounded_and_can_be_written(text: str) -> None:
    found = seen(ValueError(text))
    assert json.loads(json.dumps(asdict(found)).encode("utf-8")) == {**asdict(found), "bases": list(found.bases)}
    assert len(found.message.encode("utf-8").decode("utf-8")) <= 6 * LONGEST_MESSAGE + len(" ...")


def test_a_long_message_is_cut_and_says_so() -> None:
    assert seen(ValueError("a" * (LONGEST_MESSAGE + 1))).message == "a" * LONGEST_MESSAGE + " ..."
    assert seen(ValueError("a" * LONGEST_MESSAGE)).message == "a" * LONGEST_MESSAGE


def test_a_lone_surrogate_is_escaped() -> None:
    assert seen(ValueError("\ud800")).message == "\\ud800"


@pytest.mark.parametrize(
    ("error", "exhausted", "refused"),
    [
        (MemoryError(), True, False),
        (DeeperError(), True, False),
        (RuntimeError("derivative for aten::x is not implemented."), False, True),
        (NotImplementedError(), False, True),
        (RuntimeError("is not implemented here"), False, False),
    ],
)
def test_classes_of_errors_are_told_apart(error: Exception, *, exhausted: bool, refused: bool) -> None:
    found = seen(error)
    assert (found.is_exhaustion, found.is_unsupported) == (exhausted, refused)


def test_an_error_that_quotes_a_traceback_does_not_tell_where_the_engine_is_installed() -> None:
    quoted = 'File "/usr/lib/python3.11/site-packages/algopy/utpm.py", line 3, in solve'
    assert seen(ValueError(quoted)).message == 'File "site-packages/algopy/utpm.py", line 3, in solve'
