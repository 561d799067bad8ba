"""``refgrad check`` and ``refgrad mutate``: check the gradient of a function, and grade the tests of a gradient."""

from __future__ import annotations

import ctypes
import json
import math
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import asdict
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from refgrad.checking import check_gradients
from refgrad.checking.injection import GradFault
from refgrad.checking.mutation import GradedSuite, UngradableError
from refgrad.cli.failure import Failure, Status
from refgrad.cli.options import existing_path
from refgrad.cli.progress import doing
from refgrad.native.process import ending_signals
from refgrad.specification import installed_version

DOCUMENTED = (
    "outcome", "method", "reason", "cause", "entries", "allowed", "contexts", "refused", "detectable", "derivatives",
)  # fmt: skip
"""Fields of a report that are printed as JSON."""


def check_function(name: str, inputs_name: str, engine: str, *, as_json: bool, **options: Any) -> Status:
    """Print the report on the gradient of a function, and return the status for its outcome.

    What the function prints, from Python or from compiled code, goes to standard error.
    """
    with ExitStack() as stack:
        sys.stdout.flush()
        stack.callback(os.dup2, os.dup(1), 1)
        os.dup2(2, 1)
        stack.callback(ctypes.CDLL(None).fflush, None)
        stack.enter_context(redirect_stdout(sys.stderr))
        function, inputs = _loaded(name), _loaded(inputs_name)
        options |= {each: _loaded(options[each]) for each in ("reference", "gradient", "equation") if options[each]}
        named = [each for each in options["contexts"] if each != "none"]
        options["contexts"] = named[0] if len(named) == 1 else named
        with _one_line_for(inputs_name):
            inputs = inputs() if callable(inputs) else inputs
        if isinstance(function, type):  # a torch.autograd.Function
            function = getattr(function, "apply", function)
        began = time.monotonic()
        try:
            report = check_gradients(function, inputs, engine, raise_exception=False, **options).explained()
        except ValueError as error:  # a cause, a context or a dtype that is unknown
            raise click.UsageError(str(error)) from error
        seconds = time.monotonic() - began
    if as_json:
        document = {each: getattr(report, each) for each in DOCUMENTED}
        names = ("input", "entry", "truth", "observed", "lower", "upper")
        wrong = report.discrepancy and {each: _plain(getattr(report.discrepancy, each)) for each in names}
        _print_json("check", name, engine=engine, **document, message=str(report), discrepancy=wrong, seconds=seconds)
    else:
        click.echo(str(report))
    return Status.PASSED if report else Status.FAILED if report.outcome == "wrong" else Status.BROKEN


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value  # JSON has no NaN


def _print_json(schema: str, function: str, **document: Any) -> None:
    head = {"schema": f"refgrad/{schema}/1", "version": installed_version(), "function": function}
    click.echo(json.dumps(head | document, indent=2))


def _parts(name: str) -> tuple[str, str]:
    """Split ``module:object`` or ``path/to/file.py:object``. Raises UsageError if the file does not exist."""
    module, _, attribute = name.rpartition(":")
    if not (module and attribute):
        raise click.UsageError(f"{name!r} must be module:object or path/to/file.py:object")
    return (str(existing_path(module).resolve()) if module.endswith(".py") else module), attribute


def _loaded(name: str) -> Any:
    """Return the object ``module:object``, whose module may be in the current folder, or ``path/to/file.py:object``."""
    module, attribute = _parts(name)
    folder, stem = os.path.split(module.removesuffix(".py") if module.endswith(".py") else Path.cwd() / module)
    sys.path.insert(0, folder)
    with _one_line_for(name):
        return reduce(getattr, attribute.split("."), import_module(stem))


@contextmanager
def _one_line_for(name: str) -> Iterator[None]:
    """Raise Failure for any error: with its type, its message and the last line of the user's code that led to it."""
    try:
        yield
    except (Exception, SystemExit) as error:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename != __file__]
        files = [f" ({each.filename}, line {each.lineno})" for each in frames if "importlib" not in each.filename]
        message = f"{name}: {type(error).__name__}: {error}{''.join(files[-1:])}"
        raise Failure(message, Status.WRONG_USAGE) from error


def grade_tests(suite: GradedSuite, faults: Sequence[GradFault], time_limit: float | None, *, as_json: bool) -> Status:
    """Print which faults the tests of a gradient see, and return FAILED if they let some through."""
    _parts(suite.function)
    with ExitStack() as stack, doing("running the tests without a fault") as now:
        for number in ending_signals():  # leave nothing of the tests
            stack.callback(signal.signal, number, signal.signal(number, signal.default_int_handler))
        try:
            clean = suite.clean_run(time_limit)
        except UngradableError as error:
            click.echo(error.args[1], err=True, nl=bool(error.args[1]))
            raise Failure(error.args[0], Status.CANNOT_START) from error
        grades = []
        for each in suite.grades(clean, faults, time_limit):
            now.report(f"{each.name}: {each.grade}")
            grades.append(each)
    if as_json:
        counted = {"kind": clean.logged("kind")[0], "calls": len(clean.logged("called")), "seconds": clean.seconds}
        _print_json("mutation", suite.function, command=suite.command, **counted, faults=[*map(asdict, grades)])
    else:
        click.echo("\n".join(map(str, grades)))
    return Status.FAILED if any(each.grade == "let through" for each in grades) else Status.PASSED
