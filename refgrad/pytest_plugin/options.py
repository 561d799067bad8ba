"""The options of grading on pytest's command line, read without loading other modules of refgrad."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass, fields
from glob import escape
from pathlib import Path
from typing import Any, Final

import pytest

ITEM: Final = "refgrad::"
"""Prefix of the id of an item; the rest is the id of its check."""


@dataclass(frozen=True, slots=True)
class GradeOptions:
    """The name of an engine, and how to grade it. An empty ``select`` means every check."""

    engine: str
    profile: str = "standard"
    seed: int = 0
    output: Path | None = None
    select: tuple[str, ...] = ()
    resume: bool = False
    python: str | None = None
    in_process: bool = False
    time_limit: float | None = None
    start_limit: float | None = None
    memory_limit: int | None = None
    expect: Path | None = None
    update: bool = False
    name: str | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> GradeOptions | None:
        """Return the options of a session, with the project's defaults, or None if it names no engine.

        Raises UsageError for an option of grading without an engine, or for --refgrad-resume without --refgrad-output.
        """
        _select_what_is_named(config)
        named = _on_command_line(config)
        if "engine" not in named:
            if named:
                raise pytest.UsageError("the options --refgrad-... need --refgrad-engine NAME")
            return None
        options = cls(**_defaults(config.rootpath) | named)
        if options.resume and options.output is None:
            raise pytest.UsageError("--refgrad-resume needs --refgrad-output DIR, where the journal is")
        return options


def portable_path(path: Path | str) -> str:
    """Return a path as a text of UTF-8, whatever the locale, since processes exchange no other texts."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def local_path(text: str) -> Path:
    """Return the path that was passed to `portable_path`."""
    return Path(os.fsdecode(text.encode("utf-8", "surrogateescape")))


def _select_what_is_named(config: pytest.Config) -> None:
    """Turn arguments such as ``refgrad::operators/exp``, which are not paths, into patterns, which workers receive."""
    named = [argument for argument in config.args if argument.startswith(ITEM)]
    if named and config.option.grade_engine is not None:
        config.args = [argument for argument in config.args if argument not in named]
        patterns = config.option.grade_select or []
        config.option.grade_select = [*patterns, *(escape(argument.removeprefix(ITEM)) for argument in named)]


def _on_command_line(config: pytest.Config) -> dict[str, Any]:
    """Return the options on the command line, by the names of their fields."""
    options = {field.name: getattr(config.option, f"grade_{field.name}") for field in fields(GradeOptions)}
    for name, kind in (("output", local_path), ("expect", local_path), ("select", tuple)):
        options[name] = options[name] if options[name] is None else kind(options[name])
    return {name: value for name, value in options.items() if value is not None}


def _defaults(folder: Path) -> dict[str, Any]:
    """Return the project's defaults. Raises UsageError if they are invalid."""
    module = importlib.import_module("refgrad.grading.checks.settings")
    try:
        defaults: dict[str, Any] = module.read_defaults(folder)
    except module.DefaultsError as error:
        raise pytest.UsageError(str(error)) from error
    defaults.pop("workers", None)
    return defaults
