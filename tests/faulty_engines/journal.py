"""Faults graded by two workers, and a journal by which a run goes on where it was ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from dataclasses import Field

WORKERS: Final = 2


class Named(Protocol):
    """A dataclass of what was found of a fault, by its name."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def name(self) -> str:
        """The fault's."""


R = TypeVar("R", bound=Named)


def journaled(
    journal: Path,
    wanted: Iterable[str],
    *,
    grade: Callable[[list[str]], list[R]],
    batches: Callable[[Iterable[str]], Iterable[list[str]]],
    read: Callable[..., R],
) -> dict[str, R]:
    """Return the results of faults by their names: those of a journal, and of what it lacks, graded and noted there.

    ``read`` makes a result of the fields that the journal has of it.
    """
    names, known = list(wanted), _read(journal, read)
    missing = list(batches(name for name in names if name not in known))
    with get_context("fork").Pool(WORKERS) as pool, journal.open("a", encoding="utf-8") as lines:
        for found in pool.imap_unordered(grade, missing):
            known |= {each.name: each for each in found}
            lines.writelines(f"{json.dumps(asdict(each))}\n" for each in found)
            lines.flush()
    return {name: known[name] for name in names}


def _read(journal: Path, read: Callable[..., R]) -> dict[str, R]:
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    found = [read(**json.loads(line)) for line in lines]
    return {each.name: each for each in found}
