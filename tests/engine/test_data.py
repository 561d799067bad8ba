"""Classes of data are frozen with slots, and zips are strict, but for those that are listed."""

from tests.repository.sources import loose_zips, open_dataclasses


def test_data_are_frozen_and_have_slots() -> None:
    assert open_dataclasses("engine") == {"frozen": "Drawing"}


def test_what_is_zipped_is_of_one_length() -> None:
    assert loose_zips("engine") == [
        "zip((*row.argument_names, 'out'), (*tensors, result), strict=False)",
        "zip(names, (*step.operands, step.result), strict=False)",
        "zip(operator.argument_names, needs, strict=False)",
        "zip(operator.arguments, needs, strict=False)",
        "zip(row.attribute_names, rest, strict=False)",
        "zip(shape[::-1], value[::-1], strict=False)",
    ]
