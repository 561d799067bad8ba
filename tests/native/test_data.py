"""Classes of data: frozen and with slots, but for those that are listed."""

from tests.repository.sources import open_dataclasses


def test_data_are_frozen_and_have_slots() -> None:
    assert open_dataclasses("native") == {
        "Adapter": "frozen",
        "TapeAdapter": "frozen",
        "FunctionalAdapter": "frozen",
        "_Display": "slots",
        "Template": "frozen",
        "EndedError": "",
        "RunnerProcess": "slots",
        "Writer": "slots",
        "TapeWriter": "slots",
        "FunctionalWriter": "slots",
    }
