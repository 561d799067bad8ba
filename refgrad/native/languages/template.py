"""Code templates: expressions of a library's language with placeholders, which are both run and printed.

``torch.sum({x}, dim={axis})`` is run with the placeholders as parameters and printed with the placeholders filled in,
so that a reproduction shows what was executed.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cached_property
from typing import Final

LONGEST: Final = 2_000
"""Largest number of characters of a template. The longest one in the engine files of refgrad has 214."""

SHOWN: Final = 200
"""Largest number of characters of a template that a message shows."""


class TemplateError(ValueError):
    """Raised if a template of an adapter is malformed. The message shows the template and says what is wrong."""


@dataclass(frozen=True)
class Template:
    """An expression with placeholders in braces."""

    text: str

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The placeholders, each once, in order of appearance.

        Raises TemplateError for a template that is too long, for braces that do not match, and for a placeholder that
        is not a name. Conversions and formats are not allowed: a format could fill memory, and languages other than
        Python have neither.
        """
        if len(self.text) > LONGEST:
            raise TemplateError(f"template {self.text[:SHOWN]!r}...: it has more than {LONGEST:,} characters")
        try:
            parsed = [part for part in string.Formatter().parse(self.text) if part[1] is not None]
        except ValueError as error:
            raise TemplateError(f"template {self.text!r}: {error}") from error
        for _, name, form, conversion in parsed:
            if not name or not name.isidentifier() or form or conversion:
                written = f"{name}{'!' * bool(conversion)}{conversion or ''}{':' * bool(form)}{form}"
                raise TemplateError(f"template {self.text!r}: the placeholder {{{written}}} is not a name")
        return tuple(dict.fromkeys(name for _, name, _, _ in parsed if name))
