"""The third part of the kill matrix: faults derived from rows, found and survived, by family and by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.faulty_engines.derived.faults import FAMILIES
from tests.faulty_engines.derived.grading import FAULTS
from tests.faulty_engines.derived.run import Result, results
from tests.faulty_engines.derived.survivors import SURVIVORS

HEAD: Final = """\
## Faults derived from rows

{count} faults that follow from the rows of the operator table, planted into the reference engine one at a time: for
each check of an operator one of a kind that its row allows, chosen by the check's name, and for each contract check one
for each thing that a rule must leave alone. What lies below a fault is right: the gradient, where the gradient of the
gradient is wrong or the tangent of forward mode; all beside the edge, where that of an edge is. The check has to fail
at the standard profile, and {sound} engines passed the lower checks of the operator. The last column counts what the
smoke profile finds, which tries the first of the same scenarios.

| family | checks | with a fault that is found | faults | found | at smoke |
|---|---:|---:|---:|---:|---:|
"""

BY_KIND: Final = """
| an engine that, in one operator, … | faults | found | at smoke |
|---|---:|---:|---:|
"""

REST: Final = """
These are not found by their check:

| fault | verdict | why |
|---|---|---|
"""


def derived_table(journal: Path | None = None) -> Iterator[str]:
    """Yield the lines, the head first; a journal keeps results, and those that it has are not made again."""
    if journal is not None:
        yield from lines(results(journal))
        return
    with TemporaryDirectory() as directory:
        yield from lines(results(Path(directory) / "journal"))


def lines(found: Mapping[str, Result]) -> Iterator[str]:
    """Yield the lines, given what was found of each fault by its name."""
    yield HEAD.format(count=len(found), sound=sum(not each.blamed for each in found.values()))
    families = _grouped(found.values(), lambda each: FAULTS[each.name].family)
    yield from (_family_row(family, families[family]) for family in FAMILIES if family in families)
    yield BY_KIND
    kinds = _grouped(found.values(), lambda each: FAULTS[each.name].kind)
    yield from (f"| {kind} | {_counts(of_kind)} |\n" for kind, of_kind in sorted(kinds.items()))
    rest = [each for each in found.values() if not each.killed]
    yield from (REST, *map(_rest_row, rest)) if rest else ()


def _grouped(found: Iterable[Result], key: Callable[[Result], str]) -> dict[str, list[Result]]:
    groups: dict[str, list[Result]] = {}
    for each in found:
        groups.setdefault(key(each), []).append(each)
    return groups


def _family_row(family: str, found: list[Result]) -> str:
    checks = {FAULTS[each.name].check.id for each in found}
    failing = {FAULTS[each.name].check.id for each in found if each.killed}
    return f"| {family} | {len(checks)} | {len(failing)} | {_counts(found)} |\n"


def _counts(found: list[Result]) -> str:
    return f"{len(found)} | {sum(e.killed for e in found)} | {sum(e.at_smoke for e in found)}"


def _rest_row(each: Result) -> str:
    return f"| {each.name} | {each.verdict} | {SURVIVORS.get(each.name, '**unknown**')} |\n"
