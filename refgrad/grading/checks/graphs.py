"""Checks of random graphs and lifecycles of operators that are right by themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from refgrad.facts import Remark
from refgrad.generation import (
    ALL_FEATURES,
    LIFECYCLE_OPERATORS,
    Dtype,
    GenerationError,
    GraphForm,
    Meeting,
    Profile,
    Reach,
    Role,
    double_backward_scenario,
    lifecycle_profile,
    lifecycle_scenario,
    operator_scenario,
    random_scenario,
    small_graph_scenario,
    small_graphs,
    structured_graphs,
)
from refgrad.generation.search import batches
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.isolation import ROLES, TRIED_IN_DTYPE, is_about_dtype
from refgrad.grading.checks.operators.derivatives import KEPT_DTYPES, is_sound_twice, sound, verdict_on
from refgrad.grading.judging.examination import refuses
from refgrad.grading.judging.verdict import Finding, Level, Verdict, merged
from refgrad.grading.reliance import MEETINGS
from refgrad.native.adapter import STATEFUL_FEATURES, TapeAdapter
from refgrad.operators import operator_table
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

GraphKind = Literal[
    "small", "one_backward", "several_backwards", "double_backward", "float32", "float16", "bfloat16", "mixed_precision"
]

NOTHING_JOINS: Final = "no operator of two operands is right by itself, so that no graph could share anything"

JOINING: Final = 0.5
"""Smallest probability that an operator has several operands.

Contributions to a gradient are added where paths of a graph join.
"""

LONGEST: Final = 32
"""Largest number of operators of a random graph."""

EACH_ORDER: Final = 3
"""Largest number of operators of small graphs that are tried in each order of operands."""

MIXED_DTYPES: Final = "dtypes/mixed"
"""Prefix of the behaviour without which nothing is right in graphs of two dtypes."""

LEFT_OUT: Final = frozenset({"linear_algebra"})
"""Families that graphs leave out.

Matrices in a graph are almost singular, and libraries raise errors for them.
"""

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench


@dataclass(frozen=True, slots=True)
class GraphCheck(Check):
    """Check of random graphs of one kind."""

    kind: GraphKind
    statement: str
    level: Level = "MUST"

    @property
    def id(self) -> str:
        """Id of the check, ``graphs/KIND``."""
        return f"graphs/{self.kind}"

    def run(self, bench: Bench) -> Verdict:
        """Try random graphs with one backward, or with several."""
        several = self.kind == "several_backwards"
        if several and not _runs_twice(bench):
            return bench.verdict(self, "unsupported", Remark(text="the engine has no accumulate or no retain_graph"))
        usable = Usable.of(bench)
        if not usable.joining:
            return bench.verdict(self, "inconclusive", Remark(text=NOTHING_JOINS), cause=usable.cause)
        profile = _profile(bench, usable.ways, several=several, only=usable.only)
        structured = () if several else structured_graphs(usable.operators("numbers"))
        fitting = tuple(filter(bench.reliance.runnable, structured))
        return self.tried(bench, lambda seed: random_scenario(seed, profile), usable.cause, fitting)

    @property
    def draws(self) -> bool:
        """Return True, as for all checks of graphs."""
        return True

    def met(self, scenario: Scenario, bench: Bench) -> Scenario | None:
        """Return the regression in the form in which it is tried here.

        If the regression records gradients and one of its operators is not right at second order, the result is None.
        """
        rows = [operator_table()[name] for name in sorted(scenario.operators)]
        right = not scenario.gradients or all(is_sound_twice(bench, row) for row in rows)
        return bench.reliance.seeded(scenario) if right else None

    def reports(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (others use them)
        """Return True if each operator is right by itself on its operands, so that the graph is at fault."""
        doubted = [name for name in scenario.operators if not sound(bench, operator_table()[name])]
        return not doubted or not bench.reliance.wrong_in_isolation(scenario, doubted)

    def tried(
        self, bench: Bench, make: Callable[[int], Scenario], cause: str = "", fixed: Sequence[Scenario] = ()
    ) -> Verdict:
        """Run random graphs, then the given ones, and return the verdict; if all pass, its message is their coverage.

        ``cause`` is the id of the check because of which some operators are left out.
        """
        reach = Reach()

        def counted(seed: int) -> Scenario:
            scenario = make(seed)
            reach.add(scenario)
            return scenario

        try:
            verdict = bench.search(self, counted, bench.settings.effort.per_graph_check, cause=cause)
        except GenerationError as error:
            message = f"cannot be judged by the operators that are right: {error}"
            return bench.verdict(self, "inconclusive", Remark(text=message))
        if fixed:
            further = bench.search(self, fixed.__getitem__, 0, given=fixed, cause=cause, variant="/structured")
            verdict = merged(verdict, further)
        if verdict.verdict != "passed":
            return verdict
        for scenario in fixed:
            reach.add(scenario)
        return bench.verdict(self, "passed", Remark(text=str(reach)), examples=verdict.examples, cause=cause)


@dataclass(frozen=True, slots=True)
class Usable:
    """The operators of graphs, with the ways in which the operands of each may meet.

    ``cause`` is the id of the first check of an operator that excludes some ways.
    """

    ways: Mapping[str, frozenset[Meeting]]
    cause: str

    @classmethod
    def of(cls, bench: Bench) -> Usable:
        """Return the operators that are right by themselves, each with the ways of meeting in which it is right."""
        rows = [row for row in operator_table().values() if row.family not in LEFT_OUT and bench.offers(row)]
        doubted = [row for row in rows if not sound(bench, row)]
        cause = next((f"operators/{row.name}" for row in doubted if verdict_on(bench, row).failed), "")
        ways = {row.name: bench.reliance.right_meetings(row.name) if row in doubted else MEETINGS for row in rows}
        return cls({name: where for name, where in ways.items() if where}, cause)

    @property
    def only(self) -> tuple[tuple[str, frozenset[Meeting]], ...]:
        """Operators that are right only in some ways."""
        return tuple((name, where) for name, where in self.ways.items() if where != MEETINGS)

    def operators(self, way: Meeting) -> Mapping[Role, str]:
        """Return an operator for each role that an operator can fill if its operands meet in the given way."""
        fitting = {role: [name for name in names if way in self.ways.get(name, ())] for role, names in ROLES.items()}
        return {role: names[0] for role, names in fitting.items() if names}

    @property
    def joining(self) -> bool:
        """Return True if any of the operators has several operands."""
        return any(len(operator_table()[name].arguments) > 1 for name in self.ways)


@dataclass(frozen=True, slots=True)
class SmallGraphCheck(GraphCheck):
    """Check of all graphs of a few operators, on scalars and on vectors."""

    def run(self, bench: Bench) -> Verdict:
        """Try each graph whose roles can be filled by operators that are right by themselves."""
        usable = Usable.of(bench)
        scenarios = tuple(self.scenarios(bench, usable))
        if not scenarios:
            return bench.verdict(self, "inconclusive", Remark(text=NOTHING_JOINS), cause=usable.cause)
        return bench.search(self, scenarios.__getitem__, 0, given=scenarios)

    def scenarios(self, bench: Bench, usable: Usable) -> Iterator[Scenario]:
        """Yield graphs of scalars with each result named, and graphs of vectors, or else of scalars, nested."""
        yield from _in_form(GraphForm(vectors=False, nested=False), usable, bench)
        yield from _in_form(GraphForm(vectors="arrays" in bench.engine.adapter.features, nested=True), usable, bench)


def _in_form(form: GraphForm, usable: Usable, bench: Bench) -> Iterator[Scenario]:
    """Yield the small graphs that the engine can run in a form; the largest are only run nested.

    Graphs of the same operators require the same features.
    """
    operators = usable.operators("alike" if form.vectors else "numbers")
    if operators.keys() <= {"smooth"}:
        return
    largest = bench.settings.effort.small_graphs
    runs: dict[frozenset[str], bool] = {}
    for count in range(1, 1 + (largest if form.nested else min(largest, EACH_ORDER))):
        for leaves in (1, 2):
            for graph in small_graphs(leaves, count, ordered=count <= EACH_ORDER):
                if {role for role, _ in graph} <= operators.keys():
                    scenario = bench.reliance.seeded(small_graph_scenario(graph, operators, form))
                    used = scenario.operators
                    if used not in runs:
                        runs[used] = bench.reliance.runnable(scenario)
                    if runs[used]:
                        yield scenario


@dataclass(frozen=True, slots=True)
class DoubleBackwardCheck(GraphCheck):
    """Check of the gradients of random graphs' gradients."""

    def run(self, bench: Bench) -> Verdict:
        """Try graphs of operators that are right at second order."""
        if "double_backward" not in bench.engine.adapter.features:
            return bench.lacks(self, "double_backward")
        rows = (row for row in operator_table().values() if row.family not in LEFT_OUT)
        profile = bench.profile(operators=frozenset(row.name for row in rows if is_sound_twice(bench, row)))
        return self.tried(bench, lambda seed: bench.reliance.seeded(double_backward_scenario(seed, profile)))

    def reports(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (others use them)
        """Return True if a gradient is recorded."""
        return len(scenario.gradients) >= 1


@dataclass(frozen=True, slots=True)
class PrecisionCheck(GraphCheck):
    """Check of random graphs in a dtype. If there is a ``wider`` dtype, some leaves have that.

    Only failures that are specific to the dtype are reported.
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
        profile = _profile(bench, offered, several=_runs_twice(bench), dtype=self.dtype, wider=self.wider)
        return self.tried(bench, lambda seed: random_scenario(seed, profile))

    def _offered(self, bench: Bench) -> set[str]:
        """Return the operators that run in the dtype. For others, libraries may raise errors of any kind."""
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

    def reports(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Return True if the failure is specific to the dtype."""
        return is_about_dtype(scenario, finding, bench.engine)


def _runs_twice(bench: Bench) -> bool:
    return {"accumulate", "retain_graph"} <= bench.engine.adapter.features


def _sound(bench: Bench) -> list[str]:
    rows = (row for row in operator_table().values() if row.family not in LEFT_OUT)
    return [row.name for row in rows if sound(bench, row)]


def _profile(bench: Bench, operators: Collection[str], *, several: bool, **fields: Any) -> Profile:
    return bench.profile(
        seeds=bench.reliance.takes_seeds and not bench.engine.adapter.scalars_only,
        operators=frozenset(operators),
        joining=JOINING,
        length=(1, LONGEST),
        max_backwards=3 if several else 1,
        accumulate=several,
        **fields,
    )


GRAPH_CHECKS: Final[tuple[GraphCheck, ...]] = (
    SmallGraphCheck(
        "small", "All graphs of up to three operators have the right gradients, in each order of operands."
    ),
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


@dataclass(frozen=True, slots=True)
class LifecycleCheck(Check):
    """Check of random lifecycles of a graph with all features that an engine offers for them."""

    id: str = "lifecycles/random"
    level: Level = "MUST"
    statement: str = (
        "Whatever is built, freed, detached, overwritten, hooked and switched in whatever order, every step shows what "
        "it must, and fails where it must."
    )

    @property
    def draws(self) -> bool:
        """Return True."""
        return True

    def run(self, bench: Bench) -> Verdict:
        """Test random lifecycles with operators that pass their own checks and the features that the engine has."""
        adapter = bench.engine.adapter
        if not isinstance(adapter, TapeAdapter):
            return bench.lacks(self, "tape")
        if not adapter.features & STATEFUL_FEATURES.keys():
            return bench.lacks(self, "way to change a tensor or its graph")
        operators = frozenset(name for name in LIFECYCLE_OPERATORS if sound(bench, operator_table()[name]))
        if not operators:
            return bench.verdict(self, "inconclusive", Remark(text="no operator is right by itself"))
        profile = lifecycle_profile(features=adapter.features & ALL_FEATURES, operators=operators)
        return bench.search(self, lambda seed: lifecycle_scenario(seed, profile), bench.settings.effort.per_graph_check)
