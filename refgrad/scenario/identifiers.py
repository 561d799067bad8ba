"""The names that a scenario may use."""

from __future__ import annotations

from keyword import iskeyword

from refgrad.scenario.errors import ScenarioError, quoted

IDENTIFIER_PATTERN = "^[A-Za-z_][A-Za-z0-9_]*$"


def check_identifier(name: object) -> None:
    """Raise ScenarioError unless the name is an ASCII Python identifier and no keyword of Python.

    Only ASCII is allowed, since Python takes several spellings of one letter for the same name and other languages do
    not.
    """
    if not isinstance(name, str) or not (name.isascii() and name.isidentifier()):
        raise ScenarioError(f"{quoted(name)} is not an identifier")
    if iskeyword(name):
        raise ScenarioError(f"{name!r} is a Python keyword, not an identifier")
