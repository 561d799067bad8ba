"""Results of the trials of an adapter's templates, as text: what was run, what the result was, and how to fix it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from refgrad.grading.trials import TemplateTrial, without_arrays
from refgrad.native.languages import language_of
from refgrad.native.text import plain_line, plain_text
from refgrad.report.pages import markdown_templates

LONGEST_TEMPLATE = 110
LONGEST_LINE = 160
MOST_LINES = 8
"""Largest number of lines of a step that are shown. With an option the whole program is shown."""


def doctor_text(
    name: str, trials: Sequence[TemplateTrial], *, program: bool, python: str | None = None, faults: Sequence[str] = ()
) -> str:
    """Return the suspected faults, the failed trials grouped by template, and the next command."""
    failed = (trial for trial in trials if trial.failed)
    groups = [list(group) for _, group in groupby(failed, key=lambda trial: tuple(trial.fields.items()))]
    templates = markdown_templates()
    templates.filters |= {"line": plain_line, "text": plain_text, "ran": _ran}
    return templates.get_template("doctor.txt.jinja").render(
        name=name, trials=trials, faults=faults, groups=groups, program=program, next=grading(name, python),
        tried=len({item for trial in trials for item in trial.fields.items()}), longest=LONGEST_LINE,
        template=LONGEST_TEMPLATE, untried=without_arrays(trials[0].engine) if trials else "",
    ).removesuffix("\n")  # fmt: skip


def _ran(trial: TemplateTrial) -> list[str]:
    """Return the lines of the step that failed, in the engine's own language."""
    at = max(trial.finding.step - 1, 0)
    language = language_of(trial.engine.adapter.language)
    statements = trial.engine.program(trial.scenario).groups[at]
    told = "\n".join(line for statement in statements for line in language.lines(statement)).strip("\n").split("\n")
    cut = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..." for line in told if line.strip()]
    return cut[-MOST_LINES:] or [trial.scenario.steps[at].to_text()]


def grading(name: str, python: str | None) -> str:
    """Return the command that grades an engine for the first time, in the interpreter that has it."""
    return f"refgrad grade {name}{f' --python {python}' if python else ''} --profile smoke --output out"
