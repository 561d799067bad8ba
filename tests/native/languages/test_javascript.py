"""Programs in JavaScript carry what they use of an adapter's setup, and nothing else of it."""

from __future__ import annotations

from refgrad.native.languages.javascript import JavaScript

SETUP = """
const lib = require("lib");

function twice(x) {
  return times(x, 2);
}

function times(x, n) {
  return lib.mul(x, n);
}

class Unused {}

function unused() {}
"""


def test_functions_that_others_use_are_kept_and_unused_ones_are_not() -> None:
    program = JavaScript().whole(SETUP, "console.log(twice(1));")
    assert program.startswith('const lib = require("lib");\n\nfunction twice(x)')
    assert "function times(x, n)" in program
    assert program.endswith("\n\nconsole.log(twice(1));\n")
    assert "nused" not in program


def test_a_setup_that_nothing_uses_is_left_with_what_it_imports() -> None:
    assert JavaScript().whole(SETUP, "console.log(1);") == 'const lib = require("lib");\n\nconsole.log(1);\n'
