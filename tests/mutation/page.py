"""The page of a mutation run: totals by kind and by part of the core, and each fault with the test that kills it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.mutation.declared import EQUIVALENT
from tests.mutation.journal import Trial

HEAD = """\
# Mutation run of the core

**{killed} of {count} faults are killed by a test; {survived} survive ({share:.1f} %).**

{count} faults were planted one at a time into a copy of the core (`refgrad/oracles`, `interpreter`, `lifecycle`,
`checking`, `grading`, `engine`, and what makes programs in `native`) and of the numbers in `specs/numbers`, of {all}
that `tests/mutation` can plant: every tolerance and budget times 100 and times 1,000, every family of checks that
always passes, every copy left out, every fault that is named in `tests/mutation/declared.py`, and others in turn of
each module, chosen by the seed {seed}. Each is held to the tests that reach what it changes, those beside the module
first, until one fails. {equivalent} faults that change nothing are declared as such, each with its reason, and not
planted.

`python -m tests.mutation` makes this page.
"""


def page(trials: Sequence[Trial], everything: int, seed: int) -> str:
    """Return the page, in Markdown."""
    survivors = [trial for trial in trials if trial.killer is None]
    head = HEAD.format(
        killed=len(trials) - len(survivors),
        count=len(trials),
        survived=len(survivors),
        share=100 * len(survivors) / max(1, len(trials)),
        all=everything,
        seed=seed,
        equivalent=len(EQUIVALENT),
    )
    return head + "".join(_sections(trials, survivors))


def _sections(trials: Sequence[Trial], survivors: Sequence[Trial]) -> Iterator[str]:
    yield from _totals("kind", trials, lambda trial: trial.fault.kind)
    yield from _totals("part", trials, lambda trial: trial.fault.module.split("/")[1])
    yield "\n## Survivors\n\n"
    yield from _table(survivors) if survivors else ("None.\n",)
    yield "\n## Every fault\n\n"
    yield from _table(trials)


def _totals(what: str, trials: Iterable[Trial], key: Callable[[Trial], str]) -> Iterator[str]:
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for trial in trials:
        counts[key(trial)][trial.killer is not None] += 1
    yield f"\n| {what} | planted | killed | survived |\n|---|---:|---:|---:|\n"
    yield from (f"| {name} | {sum(row)} | {row[1]} | {row[0]} |\n" for name, row in sorted(counts.items()))


def _table(trials: Iterable[Trial]) -> Iterator[str]:
    yield "| where | kind | what is replaced | by what | killed by |\n|---|---|---|---|---|\n"
    for trial in sorted(trials, key=lambda trial: trial.fault.id):
        fault = trial.fault
        where = f"`{fault.module.removeprefix('refgrad/')}`: `{fault.function}`"
        killer = "**nothing**" if trial.killer is None else f"`{_short(trial.killer, 140)}`"
        yield f"| {where} | {fault.kind} | `{_short(fault.old, 70)}` | `{_short(fault.new, 70)}` | {_cell(killer)} |\n"


def _short(text: str, length: int) -> str:
    line = _cell(" ".join(text.split())).removeprefix("tests/")
    return line if len(line) <= length else line[: length - 1] + "…"


def _cell(text: str) -> str:
    return (
        text.replace("\\|", "|").replace("|", "\\|").replace("`", "'")
        if "`" in text[1:-1]
        else text.replace("|", "\\|")
    )
