"""Findings as scripts of an engine's own library, for a reader who does not know refgrad."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import Final

from refgrad.documents import read_bytes
from refgrad.facts import Entry
from refgrad.facts.computed import Computed
from refgrad.facts.fact import Severity
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.adapter import AnyAdapter, FunctionalAdapter, read_adapter
from refgrad.native.engine_names import shipped_engines
from refgrad.native.languages import LANGUAGES, Language
from refgrad.native.process import FILLED
from refgrad.native.statements import statement_row
from refgrad.native.text import plain_line
from refgrad.report import CHARACTERS
from refgrad.report.document import Report
from refgrad.report.findings.languages import Printed, program
from refgrad.report.findings.python import python_program
from refgrad.report.severity import At, at, scenario_of, severity
from refgrad.scenario import Apply

MARKER: Final = "# A finding of refgrad"
AROUND: Final = ("python", "platform", "language", "numpy", "setup")
"""Members of the description of an engine that a script needs."""

UNWRITTEN: Final = (
    f"Run it with {' '.join('='.join(pair) for pair in FILLED.items())} in the environment, by which glibc fills "
    "memory that nothing was written to: what that holds else may be right by chance."
)
EVERY_DIGIT: Final = 'import numpy\n\nnumpy.set_printoptions(floatmode="unique")  # every digit\n\n'


@dataclass(frozen=True)
class Script:
    """A program that shows a verdict on an engine of some name and version."""

    engine: str
    version: str
    verdict: Verdict
    python: str = ""
    platform: str = ""
    language: str = "python"
    numpy: str = ""
    setup: str = ""

    @property
    def syntax(self) -> Language:
        """The language of the program."""
        return LANGUAGES[self.language]

    @cached_property
    def adapter(self) -> AnyAdapter | None:
        """The adapter that comes with refgrad for an engine of this name."""
        return read_adapter(path) if (path := shipped_engines().get(self.engine)) else None

    @property
    def library(self) -> str:
        """Name of the package that has the engine, or the name of the engine if the package is not known."""
        return (self.adapter and self.adapter.distribution) or self.engine

    @property
    def forward_only(self) -> bool:
        """True if the engine has forward mode only."""
        return isinstance(self.adapter, FunctionalAdapter) and self.adapter.forward_only

    @property
    def name(self) -> str:
        """``ENGINE-CHAPTER-NAME``, which any file system accepts."""
        return safe_name(f"{safe_name(self.engine)[: CHARACTERS['engine_in_file_name']]}-{self.verdict.id}")

    @property
    def key(self) -> str:
        """The statements as text, by which programs are compared."""
        return json.dumps([statement_row(each) for each in self.verdict.reproduction])

    @property
    def file_name(self) -> str:
        """``ENGINE-CHAPTER-NAME.py``, or as the programs of the engine's language end."""
        return f"{self.name}{self.syntax.suffix}"

    @property
    def title(self) -> str:
        """The engine's name and version."""
        known = self.version != "unknown"
        return plain_line(f"{self.engine} {self.version}" if known else self.engine, CHARACTERS["name"])

    @property
    def environment(self) -> str:
        """Versions with which the program was run: engine, Python, NumPy, platform."""
        python = f"Python {self.python}" if self.python and self.syntax.runs_here else ""
        parts = (self.title, python, f"NumPy {self.numpy}" if self.numpy else "", self.platform)
        return plain_line(", ".join(part for part in parts if part))

    @cached_property
    def sentence(self) -> str:
        """What was computed, what is right, and what the engine gives."""
        return sentence(self.verdict, self.title)

    @property
    def severity(self) -> Severity | None:
        """Severity of the finding."""
        return severity(self.verdict)

    @cached_property
    def at(self) -> tuple[At, ...]:
        """Unusual inputs at which the failure was observed."""
        return at(self.verdict)

    @cached_property
    def printed(self) -> Printed:
        """The program as a user of the library would write it, and whether it fails."""
        if not self.syntax.runs_here:
            return program(self.verdict, self.setup, self.syntax)
        return python_program(self.verdict, self.setup, known=self.adapter is not None)

    @property
    def program(self) -> str:
        """The text of the program."""
        return self.printed.text

    @property
    def text(self) -> str:
        """The program, after a comment that describes the failure."""
        numbers = isinstance(self.verdict.fact, Entry) and self.syntax.runs_here and "print(" in self.program
        digits = EVERY_DIGIT if numbers and not self.printed.fails else ""
        return "\n".join(self._comments()) + f"\n\n{digits}{self.program}"

    @property
    def needs(self) -> str:
        """What a run of the program needs to show the failure every time."""
        fact = self.verdict.fact
        return UNWRITTEN if isinstance(fact, Entry) and fact.qualifier == "unwritten" else ""

    def _comments(self) -> Iterator[str]:
        comment = self.syntax.comment
        yield f"{comment}{MARKER[1:]}: {plain_line(self.verdict.id)}, {self.severity}."
        statement = f"Violated ({self.verdict.level}): {self.verdict.statement}"
        for text in filter(None, (self.sentence, self.needs, statement, f"Found on {self.environment}.")):
            lines = wrap(plain_line(text), CHARACTERS["script_line"], break_long_words=False, break_on_hyphens=False)
            yield from (f"{comment} {line}" for line in lines)


def sentence(verdict: Verdict, engine: str) -> str:
    """Return the sentence for a verdict on the engine of this title (its name and version)."""
    fact, scenario, evidence = verdict.fact, scenario_of(verdict), verdict.evidence
    if fact is None or evidence is None or scenario is None:
        asked = f"{verdict.statement} " if verdict.verdict == "hung" else ""  # the message only says how long
        text = f"{asked}{engine}: {verdict.message.rstrip('.')}."
    else:
        text = fact.sentence(Computed(scenario, evidence.step or len(scenario.steps)), engine)
        text = text if text.startswith(f"{engine}: ") else text[:1].upper() + text[1:]
    if evidence is not None and not evidence.repeatable:
        text += f" That was seen in {evidence.seen} of {evidence.runs} runs."
    return plain_line(text, CHARACTERS["sentence"])


def expression(verdict: Verdict) -> str:
    """Return what a verdict's scenario differentiates, or computes, as code; nothing where it has no scenario."""
    scenario = scenario_of(verdict)
    if scenario is None:
        return ""
    computed = Computed(scenario, len(scenario.steps))
    results = [step.name for step in scenario.steps if isinstance(step, Apply)]
    return f"`{computed.output if computed.outputs or not results else computed.texts[results[-1]]}`"


def safe_name(text: str) -> str:
    """Return a text as the name of a file: of bounded length, of letters, digits and ``_ + - .``, none hidden."""
    return re.sub(r"[^\w.+-]", "-", text, flags=re.ASCII).lstrip(".-")[: CHARACTERS["name"]] or "unnamed"


def failures(report: Report) -> list[Script]:
    """Return all findings of a report, in its order."""
    around = {name: report.engine[name] for name in AROUND if name in report.engine}
    name, version = report.engine["name"], report.engine["version"]
    return [Script(name, version, verdict, **around) for verdict in report.verdicts if verdict.failed]


def proofs(findings: Iterable[Script]) -> list[Script]:
    """Return the findings that have a program, each program once."""
    scripts_by_key: dict[str, Script] = {}
    for script in findings:
        if script.verdict.reproduction:
            scripts_by_key.setdefault(script.key, script)
    return list(scripts_by_key.values())


def scripts(report: Report) -> list[Script]:
    """Return what a report proves with a program, each program once, in the order of the report."""
    return proofs(failures(report))


def write_scripts(folder: Path, findings: Sequence[Script]) -> list[Path]:
    """Write scripts into a folder, in place of those that were written there before."""
    for language in LANGUAGES.values():
        for path in folder.glob(f"*{language.suffix}"):
            if read_bytes(path).startswith(f"{language.comment}{MARKER[1:]}".encode()):
                path.unlink()
    if findings:
        folder.mkdir(parents=True, exist_ok=True)
    for script in findings:
        (folder / script.file_name).write_bytes(script.text.encode("utf-8", "backslashreplace"))
    return [folder / script.file_name for script in findings]
