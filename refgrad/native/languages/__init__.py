"""Languages of engines: one module each, which holds all that refgrad has to know of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from refgrad.native.languages.cpp import Cpp
from refgrad.native.languages.java import Java
from refgrad.native.languages.javascript import JavaScript
from refgrad.native.languages.language import Language, output_of, package_version
from refgrad.native.languages.python import Python
from refgrad.native.languages.r import R
from refgrad.native.languages.unprinted import Unprinted

__all__ = ["LANGUAGES", "Language", "Python", "output_of", "package_version"]

LANGUAGES: Mapping[str, Language] = MappingProxyType({
    language.name: language for language in (Python(), JavaScript(), Cpp(), Java(), R(), Unprinted())
})
"""Each language by its name in engine files."""
