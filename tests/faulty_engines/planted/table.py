"""The fourth part of the kill matrix: faults and legal choices planted from outside, by kind, on several seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

from tests.faulty_engines.planted.fault import KINDS, Kind
from tests.faulty_engines.planted.faults import FAULTS, LEGAL, SURVIVORS
from tests.faulty_engines.planted.grading import SEEDS
from tests.faulty_engines.planted.run import Result, results

ENGINES: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    "pytorch": frozenset({"torch", "torch-func"}),
    "jax": frozenset({"jax"}),
    "reference": frozenset({"refgrad"}),
})
"""The engines of each column."""

HEAD: Final = """\
## Faults planted from outside, by kind

{pytorch} faults are planted into PyTorch, {jax} into JAX, and {reference} into the reference engine, from outside:
operators and templates of the adapter are replaced by others that are wrong under a condition alone. Each is graded by
the one check that is to find it, at the standard profile, on the seeds {seeds}. It counts as found where the check
fails on every seed, or says nothing because an earlier check of the same operator fails, and does not fail on the
engine as it is.

| kind | PyTorch: faults | found on every seed | JAX: faults | found | reference engine: faults | found |
|---|---:|---:|---:|---:|---:|---:|
"""

EACH: Final = """
| PyTorch or JAX that … | kind | check | on seeds {seeds} |
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
    yield HEAD.format(seeds=seeds, **{column: len(_names(column)) for column in ENGINES})
    for kind in (*KINDS, None):
        yield f"| {kind or 'all'} | {' | '.join(_counts(found, column, kind) for column in ENGINES)} |\n"
    yield EACH.format(seeds=seeds)
    yield from (_row(found[name]) for column in ("pytorch", "jax") for name in _names(column))
    rest = [found[name] for name in FAULTS if not found[name].killed]
    yield from (REST.format(seeds=seeds), *map(_rest_row, rest)) if rest else ()
    chosen = [found[name] for name in LEGAL]
    yield CHOICES.format(count=len(chosen), flagged=sum(each.flagged for each in chosen), seeds=seeds)
    yield from map(_choice_row, chosen)


def _names(column: str, kind: Kind | None = None) -> list[str]:
    faults = (fault for fault in FAULTS.values() if fault.plant.engine in ENGINES[column])
    return [fault.id for fault in faults if kind is None or fault.kind == kind]


def _counts(found: Mapping[str, Result], column: str, kind: Kind | None = None) -> str:
    names = _names(column, kind)
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
