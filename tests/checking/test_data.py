"""Classes of data are frozen with slots, and zips are strict, but for those that are listed."""

from tests.repository.sources import data_options, loose_zips, open_dataclasses


def test_data_are_frozen_and_have_slots() -> None:
    assert open_dataclasses("checking") == {"": "CertifiedJudge GradientCheck Rerounding", "slots": "_Call"}


def test_what_is_zipped_is_of_one_length() -> None:
    assert loose_zips("checking") == [
        "zip((self.own, *self.others), states, strict=False)",
        "zip((x, weight), dimension_numbers, strict=False)",
        "zip(operator.parameters, arguments, strict=False)",
        "zip(real, accumulate((np.size(labelled[k]) for k in real), initial=1), strict=False)",
        "zip(recorder.inputs, point, strict=False)",
    ]


def test_options_of_data_are_those_that_are_listed() -> None:
    assert data_options("checking") == {
        "compare=False": "GradientReport.derivatives GradientReport.detectable GradientReport.explanation "
        "GradientReport.raised",
        "eq=False": "CertifiedJudge Errors GradientCheck InputErrors Rerounding Variant Watched Whole WrongEntries "
        "_Call",
        "kw_only=True": "Variant",
        "repr=False": "GradientReport.derivatives GradientReport.explanation GradientReport.raised",
    }
