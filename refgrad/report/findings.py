"""Scripts of an engine's own library that show what was found to somebody who has never heard of refgrad."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from refgrad.grading.judging.verdict import Verdict
from refgrad.report.document import verdicts_of
from refgrad.scenario import Backward, parse

MARKER: Final = "# A finding of refgrad"
WIDTH: Final = 116
EVERY_DIGIT: Final = 'import numpy\n\nnumpy.set_printoptions(floatmode="unique")  # every digit\n'


@dataclass(frozen=True, slots=True)
class Script:
    """A program that shows a verdict on an engine of some name and version."""

    engine: str
    version: str
    verdict: Verdict

    @property
    def file_name(self) -> str:
        """``ENGINE-CHAPTER-NAME.py``."""
        return re.sub(r"[^\w.+-]", "-", f"{self.engine}-{self.verdict.id}") + ".py"

    @property
    def text(self) -> str:
        """A program that prints what the engine gives; its head says what is true."""
        head = "\n".join(self._remarks())
        ending = '\nprint("no error was raised")\n' if self.ends_silently else ""
        return f"{head}\n\n{EVERY_DIGIT}\n{self.verdict.reproduction.rstrip()}\n{ending}"

    def _remarks(self) -> Iterable[str]:
        yield f"{MARKER} on {self.engine}, version {self.version}: {self.verdict.id} is {self.verdict.verdict}."
        for text in (self.verdict.statement, f"Found: {self.verdict.message}"):
            yield from (f"# {line}" for line in wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False))

    @property
    def ends_silently(self) -> bool:
        """Whether the program ends with a step that should have failed, and would print nothing of it."""
        steps = parse(self.verdict.scenario).steps
        return self.verdict.verdict == "wrong" and bool(steps) and isinstance(steps[-1], Backward)


def scripts(document: Mapping[str, Any]) -> list[Script]:
    """Return what a report proves with a program, each program once, in the order of the report."""
    engine = document["engine"]
    shown: dict[str, Script] = {}
    for verdict in verdicts_of(document):
        if verdict.failed and verdict.reproduction:
            shown.setdefault(verdict.reproduction, Script(engine["name"], engine["version"], verdict))
    return list(shown.values())


def write_scripts(folder: Path, documents: Iterable[Mapping[str, Any]]) -> list[Path]:
    """Write the scripts of some reports into a folder, in place of those that were written there before."""
    for path in folder.glob("*.py"):
        if path.read_text(encoding="utf-8").startswith(MARKER):
            path.unlink()
    found = [script for document in documents for script in scripts(document)]
    if found:
        folder.mkdir(parents=True, exist_ok=True)
    for script in found:
        (folder / script.file_name).write_text(script.text, encoding="utf-8")
    return [folder / script.file_name for script in found]
