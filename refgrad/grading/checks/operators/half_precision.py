"""Check of one operator in float16 and bfloat16."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from refgrad.generation import Profile, operator_scenario, plain_corners
from refgrad.grading.checks.isolation import TRIED_IN_DTYPE, is_about_dtype, with_own_operands
from refgrad.grading.checks.operators.derivatives import KEPT_DTYPES, DependentCheck, avoided, obstacle
from refgrad.grading.judging.examination import refuses
from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

Half = Literal["float16", "bfloat16"]

FIRST_CORNERS: Final = 12
CERTAIN: Final = 2
"""Number of fixed cases, among the first :data:`FIRST_CORNERS`, that are tried in each dtype whatever the seed."""

HALVES: Final[tuple[Half, ...]] = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class HalfPrecisionCheck(DependentCheck):
    """Check of the value and gradient of one operator in the half-precision dtypes in which the engine offers it."""

    CHAPTER: ClassVar[str] = "half_precision"
    CLAIM: ClassVar[str] = "in float16 and bfloat16, as far as it is offered in them, value and gradient are right."
    LEVEL: ClassVar[Level] = "SHOULD"

    def run(self, bench: Bench) -> Verdict:
        """Try the operator in each dtype in turn, if it is right in other dtypes."""
        if not bench.offers(self.operator):
            return bench.lacks(self, self.operator.name)
        had = [dtype for dtype in HALVES if dtype in bench.engine.adapter.dtypes]
        if not had:
            return bench.lacks(self, *(f"dtype {dtype}" for dtype in HALVES))
        cause = obstacle(bench, self.operator, (KEPT_DTYPES,))
        if cause:
            return bench.blocked(self, cause)
        offered = [dtype for dtype in had if self._is_offered(bench, dtype)]
        if not offered:
            return bench.lacks(self, *(f"{self.operator.name} in {dtype}" for dtype in had))
        return bench.search(
            self,
            lambda seed: self._scenario(bench, seed, offered[seed % len(offered)]),
            bench.settings.effort.per_half_precision,
            given=(scenario for dtype in offered for scenario in self._always(bench, dtype)),
            cause=avoided(bench, self.operator).cause,
        )

    def _scenario(self, bench: Bench, seed: int, dtype: Half) -> Scenario:
        scenario = operator_scenario(seed, self.operator.name, self._profile(bench, dtype))
        return bench.reliance.isolated(with_own_operands(scenario))

    def _profile(self, bench: Bench, dtype: Half) -> Profile:
        name, fields = self.operator.name, avoided(bench, self.operator).fields
        return bench.profile(seeds=True, operators=frozenset({name}), edges=0.0, dtype=dtype, **fields)

    def _always(self, bench: Bench, dtype: Half) -> list[Scenario]:
        """Return the fixed cases with the most entries, among the first few, that every run tries.

        There are none in the smoke profile.
        """
        if not bench.settings.effort.large_arrays:
            return []
        plain = plain_corners(self.operator.name, self._profile(bench, dtype), FIRST_CORNERS)
        return [bench.reliance.isolated(with_own_operands(scenario)) for scenario in plain[-CERTAIN:]]

    def _is_offered(self, bench: Bench, dtype: Half) -> bool:
        """Return True if the operator runs in a dtype. If not, libraries may raise errors of any kind."""
        tried = [self._scenario(bench, seed, dtype) for seed in range(TRIED_IN_DTYPE)]
        bench.prepare(tried, self)
        return not any(refuses(scenario, bench.engine) for scenario in tried)

    def owns(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Return True if the failure is specific to the dtype and not reported by the operator's own check."""
        return DependentCheck.owns(self, scenario, finding, bench) and is_about_dtype(scenario, finding, bench.engine)
