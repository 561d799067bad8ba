"""Checks by random graphs, which are made of the operators that are right by themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from refgrad.generation import (
    Dtype,
    GenerationError,
    Profile,
    double_backward_scenario,
    operator_scenario,
    random_scenario,
)
from refgrad.generation.search import batches
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.isolation.dtypes import TRIED_IN_DTYPE, is_about_dtype
from refgrad.grading.checks.operators.derivatives import KEPT_DTYPES, bends, sound
from refgrad.grading.judging.evidence import Remark
from refgrad.grading.judging.examination import refuses
from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.operators import operator_table
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

GraphKind = Literal[
    "one_backward", "several_backwards", "double_backward", "float32", "float16", "bfloat16", "mixed_precision"
]

MIXED_DTYPES: Final = "dtypes/mixed"
"""The behaviour without which nothing is right in graphs of two dtypes."""

LEFT_ALONE: Final = frozenset({"linear_algebra"})
"""Families that are tried by themselves only: in a graph, matrices are all but singular, and libraries refuse them."""


@dataclass(frozen=True, slots=True)
class GraphCheck(Check):
    """Random graphs of a kind."""

    kind: GraphKind
    claim: str
    level: Level = "MUST"

    @property
    def id(self) -> str:
        """``graphs/KIND``."""
        return f"graphs/{self.kind}"

    @property
    def statement(self) -> str:
        """What is held against the engine."""
        return self.claim

    def run(self, bench: Bench) -> Verdict:
        """Try random graphs of one backward, or of several."""
        several = self.kind == "several_backwards"
        if several and not _walks_twice(bench):
            return bench.verdict(self, "unsupported", Remark(text="the engine has no accumulate or no retain_graph"))
        profile = _profile(bench, _sound(bench), several=several)
        return self.tried(bench, lambda seed: random_scenario(seed, profile))

    @property
    def draws(self) -> bool:
        """Whether scenarios are drawn: in all checks by graphs."""
        return True

    def met(self, scenario: Scenario, bench: Bench) -> Scenario | None:
        """Leave out what is made with operators that are not right by themselves, at second order too."""
        rows = [operator_table()[name] for name in sorted(scenario.operators)]
        right = all(bends(bench, row) if scenario.gradients else sound(bench, row) for row in rows)
        return bench.reliance.seeded(scenario) if right else None

    def tried(self, bench: Bench, make: Callable[[int], Scenario]) -> Verdict:
        """Try graphs, as far as there are operators to make them of."""
        try:
            return bench.search(self, make, bench.settings.effort.per_graph_check)
        except GenerationError as error:
            message = f"cannot be judged by the operators that are right: {error}"
            return bench.verdict(self, "inconclusive", Remark(text=message))


@dataclass(frozen=True, slots=True)
class DoubleBackwardCheck(GraphCheck):
    """Gradients of random graphs' gradients."""

    def run(self, bench: Bench) -> Verdict:
        """Try graphs of operators that are right at second order."""
        if "double_backward" not in bench.engine.adapter.features:
            return bench.lacks(self, "double_backward")
        rows = (row for row in operator_table().values() if row.family not in LEFT_ALONE)
        profile = bench.profile(operators=frozenset(row.name for row in rows if bends(bench, row)))
        return self.tried(bench, lambda seed: bench.reliance.seeded(double_backward_scenario(seed, profile)))

    def owns(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (others ask)
        """Whether a gradient is recorded at all."""
        return len(scenario.gradients) >= 1


@dataclass(frozen=True, slots=True)
class PrecisionCheck(GraphCheck):
    """Random graphs in a dtype; where there is a ``wider`` one, some leaves are of that.

    It is about what goes wrong in that dtype only.
    """

    dtype: Dtype = "float32"
    wider: Dtype | None = None

    def run(self, bench: Bench) -> Verdict:
        """Try graphs of operators that the engine has in the dtype."""
        dtypes = [self.dtype] if self.wider is None else [self.dtype, self.wider]
        lacking = [f"dtype {dtype}" for dtype in dtypes if dtype not in bench.engine.adapter.dtypes]
        if lacking:
            return bench.lacks(self, *lacking)
        for behaviours in (KEPT_DTYPES,) if self.wider is None else (KEPT_DTYPES, MIXED_DTYPES):
            cause = bench.reliance.failing(behaviours)
            if cause:
                return bench.blocked(self, cause)
        offered = self._offered(bench)
        profile = _profile(bench, offered, several=_walks_twice(bench), dtype=self.dtype, wider=self.wider)
        return self.tried(bench, lambda seed: random_scenario(seed, profile))

    def _offered(self, bench: Bench) -> set[str]:
        """Return the operators that run in the dtype: libraries leave some out, and say so by errors of any kind."""
        offered = set(_sound(bench))
        tried = [(name, scenario) for name in sorted(offered) for scenario in self._of_operator(bench, name)]
        for batch in batches(tried):
            bench.prepare([scenario for _, scenario in batch], self)
            offered -= {name for name, scenario in batch if refuses(scenario, bench.engine)}
        return offered

    def _of_operator(self, bench: Bench, name: str) -> list[Scenario]:
        profile = bench.profile(seeds=True, operators=frozenset({name}), empty=0.0, dtype=self.dtype, wider=self.wider)
        tried = (operator_scenario(seed, name, profile) for seed in range(TRIED_IN_DTYPE))
        return [bench.reliance.isolated(scenario) for scenario in tried]

    def owns(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Whether it is about the dtype."""
        return is_about_dtype(scenario, finding, bench.engine)


def _walks_twice(bench: Bench) -> bool:
    return {"accumulate", "retain_graph"} <= bench.engine.adapter.features


def _sound(bench: Bench) -> list[str]:
    rows = (row for row in operator_table().values() if row.family not in LEFT_ALONE)
    return [row.name for row in rows if sound(bench, row)]


def _profile(bench: Bench, operators: Collection[str], *, several: bool, **fields: Any) -> Profile:
    return bench.profile(
        seeds=bench.reliance.takes_seeds and not bench.engine.adapter.scalars_only,
        operators=frozenset(operators),
        max_backwards=3 if several else 1,
        accumulate=several,
        **fields,
    )


GRAPH_CHECKS: Final[tuple[GraphCheck, ...]] = (
    GraphCheck("one_backward", "Random graphs with sharing, fan-out and several leaves have the right gradients."),
    GraphCheck("several_backwards", "Random graphs with several losses and kept graphs have the right gradients."),
    DoubleBackwardCheck("double_backward", "Gradients of random graphs' gradients are right."),
    PrecisionCheck("float32", "Random graphs of float32 have the right gradients, in float32.", dtype="float32"),
    PrecisionCheck("float16", "Random graphs of float16 have the right gradients, in float16.", "SHOULD", "float16"),
    PrecisionCheck(
        "bfloat16", "Random graphs of bfloat16 have the right gradients, in bfloat16.", "SHOULD", "bfloat16"
    ),
    PrecisionCheck(
        "mixed_precision",
        "Random graphs of float32 and float64 have the right gradients, each in its leaf's dtype.",
        "SHOULD",
        "float32",
        "float64",
    ),
)
