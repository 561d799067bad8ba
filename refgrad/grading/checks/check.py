"""Checks: what all have in common, families of checks as rows of `specs/checks.toml`, and regressions.

Regressions are scenarios that some engine failed, by check. A check tries them on every engine and with every seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from refgrad.documents import read_toml
from refgrad.errors import UserError
from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.grading.settings import CHECKS
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Scenario, ScenarioError, parse
from refgrad.specification import specs_directory

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check of an engine: its id, ``CHAPTER/NAME``, and the statement that it tests.

    ``level`` is the severity of a failure. ``operator_name`` is that of the operator that the check is about, or an
    empty string. A check that ``draws`` scenarios keeps those that fail for every later run.
    """

    id: str
    level: Level
    statement: str
    operator_name: str = ""
    draws: bool = False

    def run(self, bench: Bench) -> Verdict:
        """Run the check and return its verdict."""
        raise NotImplementedError

    @property
    def chapter(self) -> str:
        """First part of the id."""
        return self.id.partition("/")[0]


ROWS: Final[Mapping[str, Mapping[str, Any]]] = CHECKS["families"]

Need: TypeAlias = "str | Callable[[FamilyCheck, Bench], str]"
"""Prefix of behaviours, or a function that returns the id of a failing check, or an empty string."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family of checks, which has the name of its row.

    Its only check has this name as its id, or it is a chapter with one check for each operator. ``judge`` tries
    scenarios, if the engine has what the row lists and none of the ``needs`` fails. A chapter ``is_about`` some of the
    operators. The other functions are the methods of its checks.
    """

    name: str
    judge: Callable[[FamilyCheck, Bench], Verdict]
    needs: tuple[Need, ...] = ()
    reports: Callable[[FamilyCheck, Scenario, Finding, Bench], bool] = lambda *_: True
    met: Callable[[FamilyCheck, Scenario, Bench], Scenario | None] = lambda _, each, bench: bench.reliance.seeded(each)
    explains: Callable[[FamilyCheck, Scenario, Finding, Bench], bool] = lambda *_: False
    draws: bool = True
    is_about: Callable[[Operator], bool] = lambda operator: bool(operator.differentiable_arguments)

    def check(self, operator: str = "") -> FamilyCheck:
        """Return the check of an operator, or the only check of the family."""
        row, about = ROWS[self.name], f"{operator}: " if operator else ""
        return FamilyCheck(
            self,
            id=f"{self.name}/{operator}" if operator else self.name,
            level=row["level"],
            statement=f"{about}{row['statement']}",
            operator_name=operator,
            draws=self.draws,
        )


@dataclass(frozen=True, slots=True)
class FamilyCheck(Check):
    """A check of a family."""

    family: Family

    @property
    def row(self) -> Mapping[str, Any]:
        """Row of the family."""
        return ROWS[self.family.name]

    @property
    def operator(self) -> Operator:
        """Row of the operator."""
        return operator_table()[self.operator_name]

    def run(self, bench: Bench) -> Verdict:
        """Return what the engine lacks, or the first check or behaviour that prevents a result, or else the verdict."""
        if lacking := self._lacking(bench):
            return bench.lacks(self, *lacking)
        for need in self.family.needs:
            cause = bench.reliance.failing(need) if isinstance(need, str) else need(self, bench)
            if cause:
                return bench.blocked(self, cause)
        return self.family.judge(self, bench)

    def _lacking(self, bench: Bench) -> list[str]:
        """Return the features, the operator and the dtypes of the row that the engine lacks."""
        row, adapter = self.row, bench.engine.adapter
        lacking = [feature for feature in row.get("features", ()) if feature not in adapter.features]
        if self.operator_name and not bench.engine.offers(self.operator):
            lacking.append(self.operator_name)
        any_dtype, dtypes = row.get("any_dtype", ()), [*row.get("dtypes", ())]
        if {*any_dtype}.isdisjoint(adapter.dtypes):
            dtypes += any_dtype
        return lacking or [f"dtype {dtype}" for dtype in dtypes if dtype not in adapter.dtypes]

    def met(self, scenario: Scenario, bench: Bench) -> Scenario | None:
        """Return a regression in the form in which the family tries it, or None if it does not apply."""
        return self.family.met(self, scenario, bench)

    def reports(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Return True if this check should report the failure, rather than another check."""
        return self.family.reports(self, scenario, finding, bench)

    def explains(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Return True if a known inaccuracy of an operator explains the failure."""
        return self.family.explains(self, scenario, finding, bench)


FOLDER: Final = "regressions"
"""Folder of ``specs/`` with a file for each chapter: by check, tables of a scenario and an engine that failed it."""


class RegressionError(UserError):
    """A file of regressions is malformed; the message names the file and the check."""


def regressions(check: str) -> tuple[Scenario, ...]:
    """Return the scenarios that some engine failed in a check. Raises RegressionError if one is malformed."""
    chapter, _, name = check.partition("/")
    try:
        return tuple(parse(row["scenario"]) for row in _chapter(chapter).get(name, ()))
    except ScenarioError as error:
        raise RegressionError(f"{FOLDER}/{chapter}.toml: {check}: {error}") from error


@cache
def _chapter(chapter: str) -> Mapping[str, Any]:
    path = specs_directory() / FOLDER / f"{chapter}.toml"
    return read_toml(path, "regressions", RegressionError) if path.exists() else {}
