"""Classes of data are frozen with slots, and zips are strict, but for those that are listed."""

from tests.repository.sources import data_options, loose_zips, open_dataclasses


def test_data_are_frozen_and_have_slots() -> None:
    assert open_dataclasses("native") == {
        "": "EndingError",
        "frozen": "Adapter FunctionalAdapter TapeAdapter Template",
        "slots": "FunctionalWriter TapeWriter Writer _Display",
    }


def test_what_is_zipped_is_of_one_length() -> None:
    assert loose_zips("native") == [
        "zip(arrays, seeds, strict=False)",
        "zip(body['parameters'], primals)",
        "zip(body['parameters'], values)",
        "zip(call.targets, self.parts(call), strict=False)",
        "zip(programs, ran, strict=False)",
        "zip(targets, parts)",
        "zip(unknown, programs, answers, strict=False)",
    ]


def test_options_of_data_are_those_that_are_listed() -> None:
    assert data_options("native") == {
        "eq=False": "Adapter EndingError FunctionalAdapter Observation Repeated TapeAdapter",
        "init=False": "Writer.nestable",
        "kw_only=True": "Adapter AdapterField FunctionalAdapter Inventory Isolation Limits TapeAdapter",
    }
