"""Do the programs of a report show what the report says, with nothing of refgrad around them?

Each program runs in an interpreter of its own, in which ``refgrad`` cannot be imported. What it prints, or the
exception that it ends with, is held against the message of the verdict.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import numpy as np

from refgrad.report.findings import Finding
from refgrad.scenario import Scenario, parse

Answer = Literal["confirmed", "nothing to compare", "refuted"]

SECONDS: Final = 120
"""More than any program of a dozen steps takes, the import of its engine included."""

ALONE: Final = "import sys; sys.modules['refgrad'] = None; exec(compile(sys.stdin.read(), 'finding', 'exec'))"
"""Runs the program that is piped in; an import of refgrad, which stands for None, is an ImportError."""

NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|inf\b|nan\b)", re.IGNORECASE)
FOUND: Final = re.compile(r"\bis (?:entry \([\d, ]*\): )?(?P<number>[-+]?(?:\d[\d.e+-]*|inf|nan))(?=[:,])")
PRINTED: Final[Mapping[str, Callable[[str], object]]] = MappingProxyType({
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": np.float32,
})
DTYPE: Final = re.compile(r"\bhas the dtype (?P<dtype>\w+),")
RAISED: Final = re.compile(r"\braised (?P<error>\w+)")
NAMED: Final = re.compile(r"[\w.]+(?::|$)")


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What became of a finding when its program ran alone; ``shown`` is the end of what the program said."""

    finding: Finding
    answer: Answer
    shown: str


def confirm(finding: Finding, python: str = sys.executable) -> Confirmation:
    """Run the program of a finding by itself, with the interpreter that has its engine."""
    try:
        run = subprocess.run(  # noqa: S603 (a program that the report gives, which is what is asked for)
            [python, "-c", ALONE],
            input=finding.script,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Confirmation(finding, "refuted", f"no answer after {SECONDS} s")
    error = _exception(run.stderr) if run.returncode else []
    shown = "\n".join([run.stdout.strip(), *error]).strip()
    return Confirmation(finding, _answer(finding, run.stdout, error), shown)


def _exception(said: str) -> list[str]:
    """Return the line that names the exception, behind which notes may stand, as JAX's do."""
    lines = said.strip().splitlines()
    return ([line for line in lines if NAMED.match(line)] or lines)[-1:]


def _answer(finding: Finding, printed: str, error: list[str]) -> Answer:
    """Compare what a program said with what the report says that it says."""
    raised, found, dtype = (pattern.search(finding.verdict.message) for pattern in (RAISED, FOUND, DTYPE))
    if raised:
        holds = bool(error) and error[0].split(":")[0].rpartition(".")[2] == raised["error"]
    elif error:
        holds = False
    elif found:
        holds = _printed(found["number"], printed, parse(finding.verdict.scenario))
    elif dtype and " float" in printed:
        holds = f" {dtype['dtype']}" in printed
    else:
        return "confirmed" if finding.ends_silently else "nothing to compare"
    return "confirmed" if holds else "refuted"


def _printed(number: str, printed: str, scenario: Scenario) -> bool:
    """Whether a number is among those that were printed, with every digit that their dtype has."""
    dtypes = {"float64", *(leaf.value.dtype for leaf in scenario.leaves)} & PRINTED.keys()
    texts = NUMBER.findall(printed)
    return any(repr(PRINTED[dtype](number)) == repr(PRINTED[dtype](text)) for dtype in dtypes for text in texts)
