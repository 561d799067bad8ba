"""Results of the trials of an adapter's templates, as text: what was run, what the result was, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from refgrad.grading.trials import TemplateTrial, without_arrays
from refgrad.native.languages import language_of
from refgrad.native.text import plain_line, plain_text

LONGEST_TEMPLATE = 110
LONGEST_LINE = 160
MEND = "mend the first, and try again; what is the library's own fault stays, and is for a report to tell"
MOST_LINES = 8
"""Largest number of lines of a step that are shown. With an option the whole program is shown."""


def doctor_text(
    name: str, trials: Sequence[TemplateTrial], *, program: bool, python: str | None = None, faults: Sequence[str] = ()
) -> str:
    """Return the suspected faults, the failed trials grouped by template, and the next command."""
    failed = (trial for trial in trials if trial.failed)
    groups = [list(group) for _, group in groupby(failed, key=lambda trial: tuple(trial.fields.items()))]
    lines = [line for group in groups for line in _group(group, program=program)]
    notes = [f"note: {untried}"] if trials and (untried := without_arrays(trials[0].engine)) else []
    count = len(faults) + len(groups)
    following = f"next: {MEND if count else grading(name, python)}"
    return "\n".join([*faults, *lines, _summary(name, trials, count), *notes, following])


def _group(group: Sequence[TemplateTrial], *, program: bool) -> Iterator[str]:
    """Yield the first failed trial in full, and the kinds of all of them."""
    first = group[0]
    yield from (f"{name} = {plain_line(text, LONGEST_TEMPLATE)}" for name, text in first.fields.items())
    yield f"  on {', '.join(dict.fromkeys(trial.kind for trial in group))}"
    yield from _block("ran: ", _ran(first))
    yield from _block("got: ", [plain_line(first.outcome_text, 2 * LONGEST_LINE)])
    yield from _block("mend:", [first.remedy])
    if program:
        yield from (f"    {line}" for line in plain_text(first.program, 20_000).splitlines())
    yield ""


def _block(head: str, lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"  {head if number == 0 else ' ' * len(head)} {line}"


def _ran(trial: TemplateTrial) -> list[str]:
    """Return the lines of the step that failed, in the engine's own language."""
    at = max(trial.finding.step - 1, 0)
    language = language_of(trial.engine.adapter.language)
    statements = trial.engine.program(trial.scenario).groups[at]
    told = "\n".join(line for statement in statements for line in language.lines(statement)).strip("\n").split("\n")
    cut = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..." for line in told if line.strip()]
    return cut[-MOST_LINES:] or [trial.scenario.steps[at].to_text()]


def _summary(name: str, trials: Sequence[TemplateTrial], failing: int) -> str:
    tried = len({item for trial in trials for item in trial.fields.items()})
    refused = sum(trial.finding.outcome == "unsupported" for trial in trials)
    told = f"{failing} fail" if failing else "none fails"
    return f"{name}: {tried} templates in {len(trials)} trials, {refused} of which it refuses; {told}"


def grading(name: str, python: str | None) -> str:
    """Return the command that grades an engine for the first time, in the interpreter that has it."""
    return f"refgrad grade {name}{f' --python {python}' if python else ''} --profile smoke --output out"
