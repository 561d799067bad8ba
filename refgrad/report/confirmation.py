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

from refgrad.harness.probes.growth import STEEPEST, slope
from refgrad.harness.probes.release import SHARE
from refgrad.report.findings import Finding
from refgrad.scenario import parse

Answer = Literal["confirmed", "nothing to compare", "refuted"]

SECONDS: Final = 120
"""More than any program of a dozen steps takes, the import of its engine included."""

ALONE: Final = "import sys; sys.modules['refgrad'] = None; exec(compile(sys.stdin.read(), 'finding', 'exec'))"
"""Runs the program that is piped in; an import of refgrad, which stands for None, is an ImportError."""

NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|inf\b|nan\b)", re.IGNORECASE)
PRINTED: Final[Mapping[str, Callable[[str], object]]] = MappingProxyType({
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": np.float32,
})
NAMED: Final = re.compile(r"[\w.]+(?::|$)")
"""How the line of an exception begins."""


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
    if run.returncode < 0:
        died = "process died" in finding.verdict.message
        shown = f"{run.stdout}the process died of signal {-run.returncode}"
        return Confirmation(finding, "confirmed" if died else "refuted", shown)
    error = _exception(run.stderr) if run.returncode else []
    shown = "\n".join([run.stdout.strip(), *error]).strip()
    return Confirmation(finding, _answer(finding, run.stdout, error), shown)


def _exception(said: str) -> list[str]:
    """Return the line that names the exception, behind which notes may stand, as JAX's do."""
    lines = said.strip().splitlines()
    return ([line for line in lines if NAMED.match(line)] or lines)[-1:]


def _answer(finding: Finding, printed: str, error: list[str]) -> Answer:
    """Compare what a program said with what the report says that it says."""
    message = finding.verdict.message
    if error:
        name = error[0].split(":")[0].rpartition(".")[2]
        return "confirmed" if re.search(rf"\b{name}\b", message) else "refuted"
    if re.search(r"\braised \w", message):
        return "refuted"
    for pattern, holds in CLAIMS.items():
        claim = re.search(pattern, message)
        if claim:
            try:
                return "confirmed" if holds(claim, printed, finding) else "refuted"
            except ValueError:  # it prints something else altogether
                return "refuted"
    return "confirmed" if finding.ends_silently else "nothing to compare"


def _is_number(claim: re.Match[str], printed: str, finding: Finding) -> bool:
    """Whether a number is among those that were printed, with every digit that their dtype has."""
    dtypes = {"float64", *(leaf.value.dtype for leaf in parse(finding.verdict.scenario).leaves)} & PRINTED.keys()
    texts = NUMBER.findall(printed)
    number = claim["number"]
    return any(repr(PRINTED[dtype](number)) == repr(PRINTED[dtype](text)) for dtype in dtypes for text in texts)


def _are_as_many(claim: re.Match[str], printed: str, _: Finding) -> bool:
    """Whether a list of so many arrays was printed."""
    lists = [line for line in printed.splitlines() if line.startswith("[")]
    return int(claim["calls"]) in [line.count("array(") for line in lists]


def _has_dtype(claim: re.Match[str], printed: str, _: Finding) -> bool:
    return bool(re.search(rf"(?<![a-z]){claim['dtype']}\b", printed))


def _is_none(_: re.Match[str], printed: str, __: Finding) -> bool:
    return bool(re.search(r"\bNone\b", printed))


def _leads_to(claim: re.Match[str], printed: str, _: Finding) -> bool:
    """Whether a line ``NAME [...]`` names these parents, in any order: libraries that keep a set have none."""
    lines = dict(line.split(" ", 1) for line in printed.splitlines() if " " in line)
    shown = re.findall(r"'(\w+)'", lines.get(claim["name"], ""))
    return claim["name"] in lines and sorted(shown) == sorted(
        each for each in claim["parents"].split(", ") if each.isidentifier()
    )


def _is_held(_: re.Match[str], printed: str, __: Finding) -> bool:
    """Whether of the bytes that a graph held, printed first, too many are left."""
    graph, left = map(int, NUMBER.findall(printed))
    return left * SHARE > graph


def _outlives(_: re.Match[str], printed: str, __: Finding) -> bool:
    return printed.strip() != "None"


def _is_steep(_: re.Match[str], printed: str, __: Finding) -> bool:
    """Whether the seconds behind the sizes grow faster than these."""
    return slope({int(size): float(seconds) for size, seconds in map(str.split, printed.splitlines())}) > STEEPEST


CLAIMS: Final[Mapping[str, Callable[[re.Match[str], str, Finding], bool]]] = MappingProxyType({
    r"\bis (?:entry \([\d, ]*\): )?\[*(?P<number>[-+]?(?:\d[\d.e+-]*|inf|nan))(?=[]:,]| and )": _is_number,
    r"\bgot the gradient \[*(?P<number>[^],]+)": _is_number,
    r"\bsaw (?P<calls>\d+) gradients\b": _are_as_many,
    r"\bhas the dtype (?P<dtype>\w+),": _has_dtype,
    r"\bis missing\b": _is_none,
    r"\bthe node of (?P<name>\w+) leads to \[(?P<parents>[^]]*)\]": _leads_to,
    r"\bare still held\b": _is_held,
    r"\boutlives its graph\b": _outlives,
    r"\btime grows\b": _is_steep,
})
"""What a message may claim, by the words that it claims it with, and what must have been printed then."""
