"""Programs of findings in JavaScript and C++ assert what is right, as those of Python do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refgrad.report.findings import Script, scripts
from refgrad.report.findings.languages import LANGUAGES

REPORTS = Path(__file__).parents[3] / "reports"
ENGINES = ("tfjs", "js-pytorch", "adolc", "boost", "cppad", "eigen")


def committed() -> list[Script]:
    return [s for name in ENGINES for s in scripts(json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8")))]


def test_every_file_ends_as_its_language_says() -> None:
    assert {(script.language, Path(script.file_name).suffix) for script in committed()} == {
        ("javascript", ".js"),
        ("cpp", ".cpp"),
    }


def test_what_is_wrong_in_a_number_is_asserted() -> None:
    chosen = {script.verdict.id: script for script in committed() if script.engine == "js-pytorch"}
    assert chosen["operators/integer_power"].program.rstrip().splitlines()[-2:] == [
        "var got = a.grad;",
        (
            'require("node:assert")(Math.abs(got - 1.0) <= 0.001 * Math.abs(1.0), '
            "`the gradient of a is ${got}, but it should be 1.0`);"
        ),
    ]


@pytest.mark.parametrize(
    ("condition", "javascript", "cpp"),
    [
        ("math.isnan(got)", "Number.isNaN(got)", "std::isnan(got)"),
        ("abs(got) < 1e-3", "Math.abs(got) < 1e-3", "std::abs(got) < 1e-3"),
        ("0.0 <= got <= 1.0", "0.0 <= got && got <= 1.0", "0.0 <= got && got <= 1.0"),
        ('got == float("-inf")', "got == -Infinity", "got == -INFINITY"),
    ],
)
def test_conditions_are_those_of_the_language(condition: str, javascript: str, cpp: str) -> None:
    assert LANGUAGES["javascript"].condition(condition) == javascript
    assert LANGUAGES["cpp"].condition(condition) == cpp
