"""Classes of data are frozen with slots, and zips are strict, but for those that are listed."""

from tests.repository.sources import data_options, loose_zips, open_dataclasses


def test_data_are_frozen_and_have_slots() -> None:
    assert open_dataclasses("grading") == {
        "": "Reliance",
        "frozen": "Dependence",
        "slots": "Bench CheckSearch",
    }


def test_what_is_zipped_is_of_one_length() -> None:
    assert loose_zips("grading") == []


def test_options_of_data_are_those_that_are_listed() -> None:
    assert data_options("grading") == {
        "init=False": "Bench._hung Bench._verdicts Bench.reliance "
        "CheckSearch.endings CheckSearch.explained CheckSearch.failed CheckSearch.findings_by_outcome "
        "CheckSearch.outcomes CheckSearch.refused "
        "Reliance._failing Reliance._faulty Reliance._meetings Reliance._trials _Sizes.reached",
        "kw_only=True": "Case Check Exercise LargeGraph MeasuredProgram Release RepeatedAction",
    }
