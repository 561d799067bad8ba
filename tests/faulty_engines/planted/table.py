"""The fourth part of the kill matrix: faults and legal choices planted from outside, by kind, on several seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.faulty_engines.planted.fault import KINDS, Kind
from tests.faulty_engines.planted.faults import FAULTS, LEGAL, SURVIVORS
from tests.faulty_engines.planted.grading import SEEDS
from tests.faulty_engines.planted.run import Result, results

HEAD: Final = """\
## Faults planted from outside, by kind

{torch} faults are planted into PyTorch, and {reference} into the reference engine, from outside: operators and
templates of the adapter are replaced by others that are wrong under a condition alone. Each is graded by the one check
that is to find it, at the standard profile, on the seeds {seeds}. It counts as found where the check fails on every
seed, or says nothing because an earlier check of the same operator fails, and does not fail on the engine as it is.

| kind | PyTorch: faults | found on every seed | reference engine: faults | found on every seed |
|---|---:|---:|---:|---:|
"""

EACH: Final = """
| PyTorch that … | kind | check | on seeds {seeds} |
|---|---|---|---|
"""

REST: Final = """
These are not found on every seed:

| fault | on seeds {seeds} | why |
|---|---|---|
"""

CHOICES: Final = """
{count} legal choices are planted into PyTorch in the same way, and {flagged} of them are called a fault on some seed:

| PyTorch that … | check | on seeds {seeds} |
|---|---|---|
"""


def planted_table(journal: Path | None = None) -> Iterator[str]:
    """Yield the lines, the head first; a journal keeps results, and those that it has are not made again."""
    if journal is not None:
        yield from lines(results(journal))
        return
    with TemporaryDirectory() as directory:
        yield from lines(results(Path(directory) / "journal"))


def lines(found: Mapping[str, Result]) -> Iterator[str]:
    """Yield the lines, given what was found of each fault and choice by its name."""
    seeds = f"{', '.join(map(str, SEEDS[:-1]))} and {SEEDS[-1]}"
    counts = {engine: len(_names(engine)) for engine in ("torch", "refgrad")}
    yield HEAD.format(torch=counts["torch"], reference=counts["refgrad"], seeds=seeds)
    yield from (f"| {kind} | {_counts(found, 'torch', kind)} | {_counts(found, 'refgrad', kind)} |\n" for kind in KINDS)
    yield f"| all | {_counts(found, 'torch')} | {_counts(found, 'refgrad')} |\n"
    yield EACH.format(seeds=seeds)
    yield from map(_row, (found[name] for name in _names("torch")))
    rest = [found[name] for name in FAULTS if not found[name].killed]
    yield from (REST.format(seeds=seeds), *map(_rest_row, rest)) if rest else ()
    chosen = [found[name] for name in LEGAL]
    yield CHOICES.format(count=len(chosen), flagged=sum(each.flagged for each in chosen), seeds=seeds)
    yield from map(_choice_row, chosen)


def _names(engine: str, kind: Kind | None = None) -> list[str]:
    faults = (fault for fault in FAULTS.values() if fault.plant.engine == engine)
    return [fault.id for fault in faults if kind is None or fault.kind == kind]


def _counts(found: Mapping[str, Result], engine: str, kind: Kind | None = None) -> str:
    names = _names(engine, kind)
    return f"{len(names)} | {sum(found[name].killed for name in names)}"


def _row(each: Result) -> str:
    fault = FAULTS[each.name]
    return f"| {fault.name} | {fault.kind} | `{fault.check}` | {_seen(each)} |\n"


def _rest_row(each: Result) -> str:
    return f"| {each.name} | {_seen(each)} | {SURVIVORS.get(each.name, '**unknown**')} |\n"


def _choice_row(each: Result) -> str:
    return f"| {LEGAL[each.name].name} | `{LEGAL[each.name].check}` | {_seen(each)} |\n"


def _seen(each: Result) -> str:
    return each.verdicts[0] if len(set(each.verdicts)) == 1 else ", ".join(each.verdicts)
