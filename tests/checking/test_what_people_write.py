"""Is no right function that people write called wrong, and no wrong one right?"""

from __future__ import annotations

import pytest

from refgrad import check_gradients
from tests.checking.functions.case import Case

pytest.importorskip("torch", reason="needs refgrad[torch]")

from tests.checking.functions.torch_table import CASES

pytestmark = pytest.mark.engines


def test_the_table_is_large_and_has_no_name_twice() -> None:
    assert len({case.name for case in CASES}) == len(CASES) > 150
    assert sum(not case.right for case in CASES) > 50


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_function_is_called_what_it_is(case: Case) -> None:
    report = check_gradients(case.function, case.inputs(), case.library, raise_exception=False, **case.options)
    assert report.outcome == ("right" if case.right else "wrong"), report
    assert bool(report) == case.right
