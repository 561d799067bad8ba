"""Classes of data: frozen and with slots, but for those that are listed."""

from tests.repository.sources import open_dataclasses


def test_data_are_frozen_and_have_slots() -> None:
    assert open_dataclasses("report") == {
        "Stage": "frozen",
        "Script": "frozen",
        "Cause": "frozen",
        "Graded": "frozen",
        "FileNames": "slots",
        "Document": "slots",
    }
