"""The pytest plugin: with ``--refgrad-engine NAME`` pytest also runs refgrad's checks on an engine, one item per check.

pytest loads this module in every session of every project in an environment where refgrad is installed, so it holds the
options only, and loads no other module of refgrad. The plugin proper is loaded once an engine is named.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import pytest

if TYPE_CHECKING:
    from refgrad.checking import GradientReport

ITEM: Final = "refgrad::"
"""Prefix of the id of an item; the rest is the id of its check."""


FLAG: Final = {"action": "store_true"}
GLOBS: Final = {"metavar": "GLOB", "action": "append"}


def _value(metavar: str, kind: type = str) -> dict[str, Any]:
    return {"metavar": metavar, "type": kind}


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeOptions:
    """The name of an engine, and how to grade it. An empty ``select`` means every check.

    Each field is an option of pytest, with a help text and further arguments of ``addoption``.
    """

    engine: Annotated[str, "run refgrad's checks on this engine (or module:object)", _value("NAME")]
    profile: Annotated[str, "how much: smoke, standard (the default) or thorough", _value("NAME")] = "standard"
    expect: Annotated[Path | None, "accept the known failures that this file of TOML lists", _value("FILE")] = None
    update: Annotated[bool, "write the file of --refgrad-expect anew by what is found", FLAG] = False
    output: Annotated[
        Path | None, "write the verdicts to DIR/ENGINE.json, and a journal while grading", _value("DIR")
    ] = None
    name: Annotated[str | None, "name of the engine in the report, and of its file", _value("NAME")] = None
    seed: Annotated[int, "the seed that every generated scenario follows from (default 0)", _value("N", int)] = 0
    select: Annotated[tuple[str, ...], "run the checks whose id matches, such as 'operators/*'", GLOBS] = ()
    python: Annotated[str | None, "run the engine in this interpreter, which needs no refgrad", _value("PATH")] = None
    in_process: Annotated[bool, "run the engine in this process, for a debugger", FLAG] = False
    time_limit: Annotated[float | None, "end an engine that runs one program longer", _value("SECONDS", float)] = None
    start_limit: Annotated[float | None, "end an engine that takes longer to start", _value("SECONDS", float)] = None
    memory_limit: Annotated[int | None, "let a started engine take no more memory than this", _value("MIB", int)] = None
    resume: Annotated[bool, "go on from the journal that an interrupted run left in DIR", FLAG] = False

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
    module = importlib.import_module("refgrad.grading.settings")
    try:
        defaults: dict[str, Any] = module.read_defaults(folder)
    except module.DefaultsError as error:
        raise pytest.UsageError(str(error)) from error
    defaults.pop("workers", None)
    return defaults


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, all of which need --refgrad-engine."""
    group = parser.getgroup("refgrad", "grading an automatic differentiation engine")
    further = {"engine": ["--engine"], "expect": ["--expect"], "profile": []}  # pytest-profiling has --profile
    for field, hint in get_type_hints(GradeOptions, include_extras=True).items():
        name, (text, rest) = field.replace("_", "-"), hint.__metadata__
        names = further.get(name, [f"--grade-{name}"])
        group.addoption(f"--refgrad-{name}", *names, dest=f"grade_{field}", default=None, help=text, **rest)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the plugin proper if an engine is named. Raises UsageError for invalid options."""
    options = GradeOptions.of(config)
    if options is not None:
        importlib.import_module("refgrad.pytest_plugin.session").install(config, options)


@pytest.fixture(name="check_gradients")
def _check_gradients() -> Callable[..., GradientReport]:
    """Return ``refgrad.check_gradients``, for tests of a project's own functions."""
    function: Callable[..., GradientReport] = importlib.import_module("refgrad").check_gradients
    return function
