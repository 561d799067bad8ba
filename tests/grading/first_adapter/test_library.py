"""A library is imported once, by what is given or before it."""

from __future__ import annotations

import pytest

from refgrad.grading.first_adapter.library import Library


@pytest.mark.parametrize(
    ("given", "imports"),
    [
        ("", ["import me", "import me.nn"]),
        ("def leaf(x): ...", ["import me", "import me.nn"]),
        ("import me.nn", []),
        ("import me", ["import me.nn"]),
        ("import me as m\nfrom me import nn", ["import me", "import me.nn"]),
        ("import men", ["import me", "import me.nn"]),
        ("no Python", ["import me", "import me.nn"]),
    ],
)
def test_what_is_given_stands_behind_the_imports_that_it_lacks(given: str, imports: list[str]) -> None:
    setup = Library("me", ("me", "me.nn"), "python").setup(given)
    assert setup.splitlines() == [*imports, *given.splitlines()]
