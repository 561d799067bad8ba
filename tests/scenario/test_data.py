"""Classes of data are frozen with slots, and zips are strict, but for those that are listed."""

from tests.repository.sources import data_options, loose_zips, open_dataclasses


def test_data_are_frozen_and_have_slots() -> None:
    assert open_dataclasses("scenario") == {"frozen": "Form"}


def test_what_is_zipped_is_of_one_length() -> None:
    assert loose_zips("scenario") == []


def test_options_of_data_are_those_that_are_listed() -> None:
    assert data_options("scenario") == {
        "compare=False": "Scenario._calls Scenario._definitions Scenario._hash Scenario._text",
        "eq=False": "Apply",
        "init=False": "Scenario._calls Scenario._definitions Scenario._hash Scenario._text",
        "repr=False": "Scenario",
    }
