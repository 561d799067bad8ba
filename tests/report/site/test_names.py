"""Each subject has a page of its own, under a name that any file system accepts."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from refgrad.report.site import FileNames


def test_a_page_keeps_its_name_and_shares_it_with_no_other() -> None:
    names = FileNames()
    assert names.page("finding", "a/b", "c") == "finding-a-b-c.html"
    assert names.page("finding", "a", "b-c") == "finding-a-b-c-2.html"
    assert names.page("finding", "a/b", "c") == "finding-a-b-c.html"


@given(st.lists(st.text(), unique=True))
def test_any_subjects_have_safe_names_that_differ(subjects: list[str]) -> None:
    names = FileNames()
    given_names = [names.page("operator", subject) for subject in subjects]
    assert len({name.lower() for name in given_names}) == len(subjects)
    assert all(re.fullmatch(r"[a-z][\w+.-]*\.html", name, re.ASCII) for name in given_names)
