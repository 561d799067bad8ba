"""Classes of data are frozen with slots, and zips are strict, but for those that are listed."""

from tests.repository.sources import data_options, loose_zips, open_dataclasses


def test_data_are_frozen_and_have_slots() -> None:
    assert open_dataclasses("operators") == {"frozen": "Formula", "slots": "_Block"}


def test_what_is_zipped_is_of_one_length() -> None:
    assert loose_zips("operators") == ["zip(ends, arrays, strict=False)"]


def test_options_of_data_are_those_that_are_listed() -> None:
    assert data_options("operators") == {"eq=False": "Operator"}
