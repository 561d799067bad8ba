"""Checks of random graphs and lifecycles of operators that are right by themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Final

from refgrad import generation
from refgrad.facts import Comment
from refgrad.generation import GraphForm, Meeting, Profile, Reach, Role
from refgrad.generation.search import batches
from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import Family, FamilyCheck
from refgrad.grading.checks.isolation import KEPT_DTYPES, ROLES, TRIED_IN_DTYPE, is_about_dtype, isolated_applications
from refgrad.grading.checks.operators.derivatives import (
    by_inaccuracy,
    is_about_tangents,
    is_sound_forward,
    is_sound_twice,
    sound,
)
from refgrad.grading.checks.operators.values import verdict_on
from refgrad.grading.judging.examination import examine, refuses
from refgrad.grading.judging.verdict import Finding, Verdict, merged
from refgrad.grading.reliance import MEETINGS
from refgrad.grading.search import Make
from refgrad.grading.settings import NUMBERS
from refgrad.native.adapter import STATEFUL_FEATURES, TapeAdapter
from refgrad.operators import operator_table
from refgrad.scenario import Scenario
from refgrad.scenario.functions import CALL_FEATURES

NOTHING_JOINS: Final = "no operator of two operands is right by itself, so that no graph could share anything"

TRIED: Final = NUMBERS["graphs"]

MIXED_DTYPES: Final = "dtypes/mixed"
"""Prefix of the behaviour without which nothing is right in graphs of two dtypes."""

NOT_WITH_FUNCTIONS: Final = frozenset({"in_place", "in_place_at_index", "set_requires_grad"})
"""Features that random calls of functions leave out: PyTorch refuses to compute again with inputs that changed."""

LEFT_OUT: Final = frozenset({"linear_algebra"})
"""Families that graphs leave out.

Matrices in a graph are almost singular, and libraries raise errors for them.
"""


def _random(check: FamilyCheck, bench: Bench, *, several: bool) -> Verdict:
    """Try random graphs with one backward, or with several."""
    usable = Usable.of(bench)
    if all(len(operator_table()[name].arguments) == 1 for name in usable.ways):
        return bench.verdict(check, "inconclusive", Comment(text=NOTHING_JOINS), cause=usable.cause)
    only = tuple((name, where) for name, where in usable.ways.items() if where != MEETINGS)
    profile = _profile(bench, usable.ways, several=several, only=only)
    structured = () if several else generation.structured_graphs(usable.operators("numbers"))
    fitting = tuple(filter(bench.reliance.runnable, structured))
    return _tried(check, bench, lambda seed: generation.random_scenario(seed, profile), usable.cause, fitting)


def _with_right_operators(_: FamilyCheck, scenario: Scenario, bench: Bench) -> Scenario | None:
    """Return the regression in the form in which it is tried here.

    If the regression records gradients and one of its operators is not right at second order, the result is None.
    """
    right = not scenario.gradients or all(is_sound_twice(bench, name) for name in sorted(scenario.operators))
    return bench.reliance.seeded(scenario) if right else None


def _of_the_graph(_: FamilyCheck, scenario: Scenario, __: Finding, bench: Bench) -> bool:
    """Return True if each operator is right by itself on its operands, so that the graph is at fault."""
    doubted = [name for name in scenario.operators if not sound(bench, name)]
    return not doubted or not bench.reliance.wrong_in_isolation(scenario, doubted)


def _tried(  # noqa: PLR0913 (the family chooses each of them)
    check: FamilyCheck,
    bench: Bench,
    make: Make,
    cause: str = "",
    fixed: Sequence[Scenario] = (),
    *,
    examples: int | None = None,
) -> Verdict:
    """Run random graphs, then the given ones, and return the verdict; if all pass, its message is their coverage.

    ``cause`` is the id of the check because of which some operators are left out. ``examples`` is the number of
    graphs to draw, that of the row ``graphs`` by default.
    """
    reach = Reach()

    def counted(seed: int) -> Scenario:
        scenario = make(seed)
        reach.add(scenario)
        return scenario

    try:
        verdict = bench.search(check, counted, examples or bench.settings.effort["graphs"], cause=cause)
    except generation.GenerationError as error:
        message = f"cannot be judged by the operators that are right: {error}"
        return bench.verdict(check, "inconclusive", Comment(text=message))
    if fixed:
        further = bench.search(check, fixed.__getitem__, 0, fixed=fixed, cause=cause, variant="/structured")
        verdict = merged(verdict, further)
    if verdict.verdict != "passed":
        return verdict
    for scenario in fixed:
        reach.add(scenario)
    return bench.verdict(check, "passed", Comment(text=str(reach)), examples=verdict.examples, cause=cause)


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
        rows = [row for row in operator_table().values() if row.family not in LEFT_OUT and bench.engine.offers(row)]
        doubted = [row.name for row in rows if not sound(bench, row.name)]
        cause = next((f"operators/{name}" for name in doubted if verdict_on(bench, name).failed), "")
        ways = {n: bench.reliance.right_meetings(n) if n in doubted else MEETINGS for n in (row.name for row in rows)}
        return cls({name: where for name, where in ways.items() if where}, cause)

    def operators(self, way: Meeting) -> Mapping[Role, str]:
        """Return an operator for each role that an operator can fill if its operands meet in the given way."""
        fitting = {role: [name for name in names if way in self.ways.get(name, ())] for role, names in ROLES.items()}
        return {role: names[0] for role, names in fitting.items() if names}


def _small(check: FamilyCheck, bench: Bench) -> Verdict:
    """Try all graphs of a few operators whose roles can be filled by operators that are right by themselves."""
    usable = Usable.of(bench)
    return _all_tried(check, bench, tuple(small_scenarios(bench, usable)), usable.cause)


def _all_tried(check: FamilyCheck, bench: Bench, scenarios: Sequence[Scenario], cause: str) -> Verdict:
    """Try all of the given scenarios and draw no others."""
    if not scenarios:
        return bench.verdict(check, "inconclusive", Comment(text=NOTHING_JOINS), cause=cause)
    return bench.search(check, scenarios.__getitem__, 0, fixed=scenarios)


def small_scenarios(bench: Bench, usable: Usable) -> Iterator[Scenario]:
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
    largest, each_order = bench.settings.effort["small_graphs"], TRIED["each_order"]
    runs: dict[frozenset[str], bool] = {}
    for count in range(1, 1 + (largest if form.nested else min(largest, each_order))):
        for leaves in (1, 2):
            for graph in generation.small_graphs(leaves, count, ordered=count <= each_order):
                if {role for role, _ in graph} <= operators.keys():
                    scenario = bench.reliance.seeded(generation.small_graph_scenario(graph, operators, form))
                    used = scenario.operators
                    if used not in runs:
                        runs[used] = bench.reliance.runnable(scenario)
                    if runs[used]:
                        yield scenario


def _neighbours(check: FamilyCheck, bench: Bench) -> Verdict:
    """Try the operators that engines fuse or rewrite together."""
    usable = Usable.of(bench)
    profile = _profile(bench, usable.ways, several=False)
    seeded = map(bench.reliance.seeded, generation.neighbours(profile))
    runnable = islice(filter(bench.reliance.runnable, seeded), bench.settings.effort["neighbours"])
    return _all_tried(check, bench, tuple(runnable), usable.cause)


def _differentiated_twice(check: FamilyCheck, bench: Bench) -> Verdict:
    """Try gradients of gradients in graphs of operators that are right at second order."""
    profile = bench.profile(operators=frozenset(_right(bench, is_sound_twice)))
    return _tried(check, bench, lambda seed: bench.reliance.seeded(generation.double_backward_scenario(seed, profile)))


def _pushed_forward(check: FamilyCheck, bench: Bench) -> Verdict:
    """Push tangents through graphs of operators that are right in forward mode, and through neighbours."""
    right = _right(bench, is_sound_forward)
    profile = _profile(bench, right, several=False)
    most = min(TRIED["pushed_neighbours"], bench.settings.effort["neighbours"])
    roles = {role: name for role, names in ROLES.items() for name in reversed(names) if name in right}
    joined = (*generation.structured_graphs(roles), *islice(generation.neighbours(profile), most))
    pushed = (generation.pushed_forward(each, generation.Choices(number)) for number, each in enumerate(joined))
    fixed = tuple(filter(bench.reliance.runnable, map(bench.reliance.seeded, pushed)))
    forward = partial(generation.forward_graph_scenario, profile=profile)
    return _tried(check, bench, lambda seed: bench.reliance.seeded(forward(seed)), fixed=fixed)


def _of_tangents(check: FamilyCheck, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
    """Return True if the failure is specific to forward mode, in which each operator is right on its operands."""
    if not is_about_tangents(check, scenario, finding, bench):
        return False
    isolated = (each for name in sorted(scenario.operators) for each in isolated_applications(scenario, name))
    pushed = (generation.with_tangents(each, generation.Choices(0), Profile()) for each in isolated)
    return not any(examine(each, bench.engine).failed for each in pushed)


def _in_a_dtype(check: FamilyCheck, bench: Bench) -> Verdict:
    """Try graphs of operators that the engine has in the dtype. If there is a wider one, some leaves have that."""
    dtype, wider = (*check.row["dtypes"], None)[:2]
    dtypes = {"dtype": dtype, "wider": wider}
    several = {"accumulate", "retain_graph"} <= bench.engine.adapter.features
    profile = _profile(bench, _offered(check, bench, dtypes), several=several, **dtypes)
    effort = bench.settings.effort
    examples = effort["mixed_half"] if wider == "float32" else effort["graphs_of_a_dtype"]
    return _tried(check, bench, lambda seed: generation.random_scenario(seed, profile), examples=examples)


def _offered(check: FamilyCheck, bench: Bench, dtypes: Mapping[str, Any]) -> set[str]:
    """Return the operators that run in the dtypes. For others, libraries may raise errors of any kind."""
    offered = {*_right(bench, sound)}
    tried = [(name, scenario) for name in sorted(offered) for scenario in _of_operator(name, bench, dtypes)]
    for batch in batches(tried):
        bench.prepare([scenario for _, scenario in batch], check)
        offered -= {name for name, scenario in batch if refuses(scenario, bench.engine)}
    return offered


def _of_operator(name: str, bench: Bench, dtypes: Mapping[str, Any]) -> Iterator[Scenario]:
    profile = bench.profile(seeds=True, operators=frozenset({name}), empty=0.0, **dtypes)
    return map(bench.isolated(name, profile), range(TRIED_IN_DTYPE))


def _of_the_dtype(_: FamilyCheck, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
    """Return True if the failure is specific to the dtype."""
    return is_about_dtype(scenario, finding, bench.engine)


def _right(bench: Bench, is_right: Callable[[Bench, str], bool]) -> list[str]:
    """Return the operators of graphs that are right."""
    return [row.name for row in operator_table().values() if row.family not in LEFT_OUT and is_right(bench, row.name)]


def _profile(bench: Bench, operators: Collection[str], *, several: bool, **fields: Any) -> Profile:
    return bench.profile(
        seeds=bench.reliance.takes_seeds and not bench.engine.adapter.scalars_only,
        operators=frozenset(operators),
        joining=TRIED["joining"],
        length=(1, TRIED["longest"]),
        max_backwards=3 if several else 1,
        accumulate=several,
        **fields,
    )


def _lifecycles(check: FamilyCheck, bench: Bench) -> Verdict:
    """Try random lifecycles with operators that pass their own checks and the features that the engine has."""
    adapter = bench.engine.adapter
    if not isinstance(adapter, TapeAdapter):
        return bench.lacks(check, "tape")
    if not adapter.features & STATEFUL_FEATURES.keys():
        return bench.lacks(check, "way to change a tensor or its graph")
    operators = frozenset(name for name in generation.LIFECYCLE_OPERATORS if sound(bench, name))
    if not operators:
        return bench.verdict(check, "inconclusive", Comment(text="no operator is right by itself"))
    profile = generation.lifecycle_profile(features=adapter.features & generation.ALL_FEATURES, operators=operators)
    examples = bench.settings.effort["graphs"]
    return bench.search(check, lambda seed: generation.lifecycle_scenario(seed, profile), examples)


def _functions(check: FamilyCheck, bench: Bench) -> Verdict:
    """Try random lifecycles in which functions are called, transformed, repeated and computed again."""
    features = bench.engine.adapter.features
    if not features & CALL_FEATURES:
        return bench.lacks(check, "way to call a function")
    offered = features & (generation.ALL_FEATURES | CALL_FEATURES) - NOT_WITH_FUNCTIONS
    operators = frozenset(name for name in generation.CALLED_OPERATORS if sound(bench, name))
    if not operators:
        return bench.verdict(check, "inconclusive", Comment(text="no operator is right by itself"))
    profile = generation.lifecycle_profile(features=offered, operators=operators)
    if not isinstance(bench.engine.adapter, TapeAdapter):
        profile = replace(profile, misuse=0.0)
    return bench.search(
        check, lambda seed: generation.lifecycle_scenario(seed, profile), bench.settings.effort["functions"]
    )


_graphs = partial(Family, met=_with_right_operators, reports=_of_the_graph, explains=by_inaccuracy)

GRAPHS: Final = (
    _graphs("graphs/small", _small),
    _graphs("graphs/neighbours", _neighbours),
    _graphs("graphs/one_backward", partial(_random, several=False)),
    _graphs("graphs/several_backwards", partial(_random, several=True)),
    _graphs("graphs/double_backward", _differentiated_twice, reports=lambda _, scenario, *__: bool(scenario.gradients)),
    _graphs("graphs/forward_mode", _pushed_forward, reports=_of_tangents),
    _graphs("graphs/float32", _in_a_dtype, (KEPT_DTYPES,), reports=_of_the_dtype),
    _graphs("graphs/float16", _in_a_dtype, (KEPT_DTYPES,), reports=_of_the_dtype),
    _graphs("graphs/bfloat16", _in_a_dtype, (KEPT_DTYPES,), reports=_of_the_dtype),
    *(
        _graphs(name, _in_a_dtype, (KEPT_DTYPES, MIXED_DTYPES), reports=_of_the_dtype)
        for name in ("graphs/mixed_precision", "graphs/mixed_float16", "graphs/mixed_bfloat16")
    ),
    Family("lifecycles/random", _lifecycles),
    Family("lifecycles/functions", _functions),
)
"""Families of one check each, of graphs and of lifecycles."""
