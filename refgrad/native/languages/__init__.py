"""Languages of programs: how each prints variables, literals, functions, regions and results."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from refgrad.native.languages.cpp import Cpp
from refgrad.native.languages.java import Java
from refgrad.native.languages.javascript import JavaScript
from refgrad.native.languages.language import Language
from refgrad.native.languages.python import Python
from refgrad.native.languages.r import R

__all__ = ["LANGUAGES", "Language", "Python", "language_of"]

LANGUAGES: Mapping[str, type[Language]] = MappingProxyType({
    "python": Python,
    "javascript": JavaScript,
    "cpp": Cpp,
    "java": Java,
    "r": R,
})


def language_of(name: str, *, dtypes: bool = False) -> Language:
    """Return the language of an adapter. With ``dtypes``, programs print the dtypes of results too."""
    return LANGUAGES[name](dtypes)
