"""How does one text both run an operation of a library and print it?

An adapter spells each operation as a line of its library's code with fields, ``torch.sum({x}, dim={axis})``. The
harness runs that line with the fields as parameters, and prints it with the fields filled in, so a reproduction is what
was executed.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any


class TemplateError(ValueError):
    """A template of an adapter is malformed; the message shows it and says what is wrong."""


@dataclass(frozen=True)
class Template:
    """A line of code with fields in braces."""

    text: str

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields, each once, in order of appearance. Raises TemplateError for braces that do not match."""
        try:
            parsed = [name for _, name, _, _ in string.Formatter().parse(self.text) if name is not None]
        except ValueError as error:
            message = f"template {self.text!r}: {error}"
            raise TemplateError(message) from error
        for name in parsed:
            if not name.isidentifier():
                message = f"template {self.text!r}: the field {{{name}}} is not a name"
                raise TemplateError(message)
        return tuple(dict.fromkeys(parsed))

    def compile(self, namespace: Mapping[str, Any]) -> Callable[..., Any]:
        """Return the line as a function of its fields (by keyword; others are ignored), in a library's namespace."""
        source = f"lambda *, {', '.join([*self.fields, '**_ignored'])}: {self.render({f: f for f in self.fields})}"
        if not self.fields:
            source = f"lambda **_ignored: {self.render({})}"
        try:
            code = compile(source, f"<template {self.text}>", "eval")
        except SyntaxError as error:
            message = f"template {self.text!r} is not an expression: {error.msg}"
            raise TemplateError(message) from error
        return eval(code, namespace if isinstance(namespace, dict) else dict(namespace))  # type: ignore[no-any-return]

    def of_dtype(self, dtype: str) -> Template:
        """Return the line with the field ``{dtype}`` filled in: a word of code, not a value, ``torch.{dtype}``."""
        return Template(self.text.replace("{dtype}", dtype))

    def render(self, fields: Mapping[str, str]) -> str:
        """Return the line with its fields filled in."""
        return self.text.format(**fields)
