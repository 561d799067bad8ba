"""Classes of data are frozen with slots, and zips are strict, but for those that are listed."""

from tests.repository.sources import loose_zips, open_dataclasses


def test_data_are_frozen_and_have_slots() -> None:
    assert open_dataclasses("report") == {"frozen": "Cause Graded Piece Script Stage", "slots": "Document FileNames"}


def test_what_is_zipped_is_of_one_length() -> None:
    assert loose_zips("report") == [
        "zip(functions, (name for name in NAMES if name not in taken), strict=False)",
        "zip(parameters, call[1].split(', '), strict=False)",
    ]
