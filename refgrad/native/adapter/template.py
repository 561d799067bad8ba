"""Code templates: a line of a library's code with placeholders, that is both run and printed.

``torch.sum({x}, dim={axis})`` is run with the placeholders as parameters, and is printed with the placeholders filled
in, so that a reproduction is what was executed.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import CodeType
from typing import Any


class TemplateError(ValueError):
    """A template of an adapter is malformed; the message shows it and says what is wrong."""


@dataclass(frozen=True)
class Template:
    """An expression with placeholders in braces."""

    text: str

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The placeholders, each once, in order of appearance. Raises TemplateError for braces that do not match."""
        try:
            parsed = [name for _, name, _, _ in string.Formatter().parse(self.text) if name is not None]
        except ValueError as error:
            message = f"template {self.text!r}: {error}"
            raise TemplateError(message) from error
        for name in parsed:
            if not name.isidentifier():
                message = f"template {self.text!r}: the placeholder {{{name}}} is not a name"
                raise TemplateError(message)
        return tuple(dict.fromkeys(parsed))

    def compile(self, namespace: Mapping[str, Any]) -> Callable[..., Any]:
        """Return it as a function of its placeholders (by keyword; others are ignored), in a library's namespace."""
        source = f"lambda *, {', '.join([*self.fields, '**_ignored'])}: {self.render({f: f for f in self.fields})}"
        if not self.fields:
            source = f"lambda **_ignored: {self.render({})}"
        try:
            code = _compiled(source, f"<template {self.text}>")
        except (SyntaxError, ValueError) as error:  # of a null byte, a ValueError before Python 3.12
            said = error.msg if isinstance(error, SyntaxError) else error
            message = f"template {self.text!r} is not an expression: {said}"
            raise TemplateError(message) from error
        return eval(code, namespace if isinstance(namespace, dict) else dict(namespace))  # type: ignore[no-any-return]

    def of_dtype(self, dtype: str) -> Template:
        """Return it with the placeholder ``{dtype}`` filled in: a word of code, not a value, ``torch.{dtype}``."""
        return Template(self.text.replace("{dtype}", dtype))

    def render(self, fields: Mapping[str, str]) -> str:
        """Return it with its placeholders filled in."""
        return self.text.format(**fields)


@cache  # an adapter that is made of another one has most of its templates
def _compiled(source: str, filename: str) -> CodeType:
    return compile(source, filename, "eval")
