"""Families of checks of one operator's derivatives: edges, higher orders, forward mode, contract, half precision.

They do not repeat failures that the check of the operator's value and gradient reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from refgrad import generation
from refgrad.facts import Comment
from refgrad.generation import Dtype, Profile
from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import Family, FamilyCheck, Need
from refgrad.grading.checks.isolation import KEPT_DTYPES, TRIED_IN_DTYPE, WEIGHT, is_about_dtype, with_own_operands
from refgrad.grading.checks.operators.blame import SEEING, avoids_empty, has_empty, is_broken, is_known_inaccuracy
from refgrad.grading.checks.operators.values import OPERATORS, TRIED, always, verdict_on, with_right_views
from refgrad.grading.judging.examination import examine, refuses
from refgrad.grading.judging.verdict import Finding, Outcome, Verdict
from refgrad.grading.reliance import SEEDS_STAY
from refgrad.operators import Operator
from refgrad.operators.differentiation import bending
from refgrad.scenario import Scenario
from refgrad.scenario.rewrite import at_lower_order, in_modes, without_tangents

HELPING: Final = SEEING | {WEIGHT}
"""Operators with which another operator is tried."""

ADDING: Final = frozenset({"reductions", "statistics", "normalisations"})
"""Families of operators that add entries up, or whose derivatives do."""

FOUNDATIONS: Final = ("sharing/", "values/", "leaves/")
"""Prefixes of the behaviours without which no gradient of a gradient can be right."""

REPEATED: Final = ("accumulation/", "retain_graph/")
"""Prefixes of the behaviours without which a second backward is wrong whatever the operator's rule does."""

ENDINGS: Final[frozenset[Outcome]] = frozenset({"crashed", "hung"})
"""Outcomes of scenarios that cost a process."""

APART: Final = "contracts/gradients_of_leaves_are_apart"
"""Id of the behaviour that fails if gradients share memory whatever the operator is."""


def sound(bench: Bench, operator: str) -> bool:
    """Return True if the engine has an operator and it is right by itself, so that a graph is to blame for failures."""
    check = EDGES.check(operator)
    if not bench.engine.offers(check.operator) or verdict_on(bench, operator).verdict != "passed":
        return False
    return not (check.operator.edges and bench.grade(check).failed)


def is_sound_twice(bench: Bench, operator: str) -> bool:
    """Return True if an operator is right by itself at first and at second order."""
    return sound(bench, operator) and bench.grade(SECOND_ORDER.check(operator)).verdict == "passed"


def is_sound_forward(bench: Bench, operator: str) -> bool:
    """Return True if an operator is right by itself in both modes."""
    return sound(bench, operator) and bench.grade(FORWARD_MODE.check(operator)).verdict == "passed"


def _own_value(check: FamilyCheck, bench: Bench) -> str:
    """Return the id of the check of the operator's value and gradient if it fails, or an empty string."""
    verdict = verdict_on(bench, check.operator_name)
    return verdict.id if is_broken(verdict) else ""


def _weight(_: FamilyCheck, bench: Bench) -> str:
    return "" if sound(bench, WEIGHT) else OPERATORS.check(WEIGHT).id


def _gradients_are_apart(_: FamilyCheck, bench: Bench) -> str:
    return "" if bench.reliance.reliable_on(APART, frozenset({"add", "multiply"})) else APART


def _with_helpers(check: FamilyCheck, scenario: Scenario, bench: Bench) -> Scenario | None:
    """Return the regression, or None if it uses operators other than helping ones that are right by themselves.

    The checks of helping operators use no others, so that no two checks wait for each other.
    """
    others = scenario.operators - {check.operator_name}
    if others and (check.operator_name in HELPING or not others <= HELPING):
        return None
    right = is_sound_twice if scenario.gradients else sound
    return bench.reliance.seeded(scenario) if all(right(bench, name) for name in sorted(others)) else None


def is_new(check: FamilyCheck, scenario: Scenario, _: Finding, bench: Bench) -> bool:
    """Return True if the failure is not that of the operator's value and gradient.

    If the latter fail on some arrays that are not empty, they must be right on the operands of the scenario.
    """
    own = verdict_on(bench, check.operator_name)
    if not is_broken(own):
        return not (has_empty(scenario) and avoids_empty(own))
    return is_right_before(scenario, bench) and not bench.reliance.wrong_in_isolation(scenario, [check.operator_name])


def is_right_before(scenario: Scenario, bench: Bench) -> bool:
    """Return True if nothing fails without the last of the recorded gradients, or if there is none."""
    return not scenario.gradients or not examine(at_lower_order(scenario), bench.engine).failed


def by_inaccuracy(_: FamilyCheck, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
    """Return True if an inaccuracy of the operator, or of another one in the scenario, explains the failure."""
    return is_known_inaccuracy(scenario, finding, (verdict_on(bench, name) for name in sorted(scenario.operators)))


def after_own_value(name: str, judge: Callable[[FamilyCheck, Bench], Verdict], *needs: Need, **fields: Any) -> Family:
    """Return a family that does not repeat failures of the operator's value and gradient."""
    functions = {"reports": is_new, "met": _with_helpers, "explains": by_inaccuracy, **fields}
    return Family(name, partial(_past_own_value, judge=judge), (_blocking, *needs), **functions)


def _blocking(check: FamilyCheck, bench: Bench) -> str:
    """Return the id of the check of the operator's value and gradient if its failure blocks other checks, or "".

    A failure that ends a process blocks them; in the smoke profile every failure does.
    """
    ends = verdict_on(bench, check.operator_name).verdict in ENDINGS
    return _own_value(check, bench) if ends or not bench.settings.effort["past_failures"] else ""


def _past_own_value(check: FamilyCheck, bench: Bench, judge: Callable[[FamilyCheck, Bench], Verdict]) -> Verdict:
    return with_cause(check, bench, judge(check, bench), verdict_on(bench, check.operator_name))


def with_cause(check: FamilyCheck, bench: Bench, verdict: Verdict, *others: Verdict) -> Verdict:
    """Return the verdict of a check whose scenarios leave out what other verdicts report, with the first as its cause.

    If too little is left to decide anything, the check is blocked.
    """
    cause = next((each.id for each in others if is_broken(each)), "")
    if cause and verdict.verdict == "inconclusive":
        return bench.blocked(check, cause)
    return replace(verdict, cause=verdict.cause or cause)


def _tried(  # noqa: PLR0913 (the family chooses each of them, by name)
    check: FamilyCheck,
    bench: Bench,
    make: Callable[..., Scenario],
    *,
    least: int = 0,
    fixed: Iterable[Callable[..., tuple[Scenario, ...]]] = (),
    helpers: Iterable[str] = (),
    edges: float = 0.0,
    scalars: bool = True,
    **options: Any,
) -> Verdict:
    """Try scenarios with 0-d operands unless ``scalars`` is False, then ``fixed`` ones, then drawn ones.

    ``make`` and the functions in ``fixed`` get the name of the operator, a profile that allows it and the ``helpers``,
    and the ``options``; at least ``least`` are drawn. ``edges`` is the probability that an operand is on an edge;
    only operators that are isolated are tried there.
    """
    name, examples = check.operator_name, max(bench.settings.effort[check.chapter], least)
    cause = avoids_empty(verdict_on(bench, name))
    profile = bench.profile(operators=frozenset({name, *helpers}), edges=edges, **({"empty": 0.0} if cause else {}))
    form = bench.reliance.isolated if edges else bench.reliance.seeded

    def drawn(seed: int, profile: Profile = profile) -> Scenario:
        return form(make(seed, name, profile, **options))

    cases = (scenario for each in fixed for scenario in always(each, name, profile, bench, **options))
    first = _of_single_numbers(check, drawn, profile, bench, examples) if scalars else []
    first += filter(bench.reliance.runnable, map(form, cases))
    return bench.search(check, drawn, examples, fixed=first, cause=cause)


def _of_single_numbers(
    check: FamilyCheck, make: Callable[[int, Profile], Scenario], profile: Profile, bench: Bench, examples: int
) -> list[Scenario]:
    """Return scenarios with 0-d operands, which are rarely drawn; none if the operator is not elementwise.

    Only formulas apply to 0-d operands whatever the attributes are. ``examples`` is the number of scenarios that are
    drawn in addition.
    """
    if not check.operator.elementwise:
        return []
    single, count = replace(profile, max_rank=0), min(TRIED["single_numbers"], max(1, examples // 2))
    return [make(seed, single) for seed in range(bench.settings.seed, bench.settings.seed + count)]


def _at_edges(check: FamilyCheck, bench: Bench) -> Verdict:
    """Try operands of which each lies on an edge."""
    return _tried(check, bench, generation.edge_scenario, edges=1.0, scalars=False)


EDGES: Final = after_own_value("edges", _at_edges, _own_value, is_about=lambda operator: bool(operator.edges))


def _differentiated_twice(check: FamilyCheck, bench: Bench) -> Verdict:
    """Differentiate twice. The output is multiplied by a leaf only if products are right at second order."""
    fixed = (
        generation.memory_scenarios_of_second_order,
        generation.subsets_of_second_order,
        generation.second_order_cases,
    )
    return _tried(check, bench, generation.second_order_scenario, fixed=fixed, weighted=_weighted(check, bench))


def _weighted(check: FamilyCheck, bench: Bench) -> bool | None:
    """Return True if the output is always multiplied by a leaf, False if never, and None if sometimes.

    It is always multiplied if the operator is elementwise and linear or piecewise linear, and never if products are
    wrong at second order.
    """
    row = check.operator
    if row.name != WEIGHT and not is_sound_twice(bench, WEIGHT):
        return False
    return True if row.elementwise and not any(bending(row, name) for name in row.argument_names) else None


def _of_second_order(check: FamilyCheck, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
    """Return True if a gradient is recorded and neither views nor the operator's own check explain the failure."""
    if not scenario.gradients or not is_new(check, scenario, finding, bench):
        return False
    return with_right_views(check, scenario, finding, bench)


def has_derivatives(operator: Operator) -> bool:
    """Return True if a derivative of the operator is not identically zero."""
    return not all(map(operator.vanishes, operator.differentiable_arguments))


SECOND_ORDER: Final = after_own_value(
    "second_order", _differentiated_twice, *FOUNDATIONS, reports=_of_second_order, is_about=has_derivatives
)


def _undecided(check: FamilyCheck, bench: Bench, *foundations: Verdict) -> Verdict | None:
    """Return the verdict of a check that builds on others if one of them is unsupported or inconclusive, else None."""
    for each in foundations:
        if each.verdict in {"unsupported", "inconclusive"}:
            verdict = bench.verdict(check, each.verdict, Comment(text=each.message), cause=each.cause)
            return replace(verdict, evidence=each.evidence)
    return None


def _differentiated_three_times(check: FamilyCheck, bench: Bench) -> Verdict:
    """Differentiate three times, where second derivatives are right."""
    second = bench.grade(SECOND_ORDER.check(check.operator_name))
    if undecided := _undecided(check, bench, second):
        return undecided
    if second.verdict in ENDINGS:
        return bench.blocked(check, second.id)
    if not is_sound_twice(bench, WEIGHT):
        return bench.blocked(check, SECOND_ORDER.check(WEIGHT).id)
    make = partial(generation.third_order_scenario, weighted_gradient=TRIED["weighted_gradient"])
    verdict = _tried(check, bench, make, fixed=(generation.third_order_cases,), helpers=(WEIGHT,))
    return with_cause(check, bench, verdict, second)


def _of_third_order(check: FamilyCheck, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
    """Return True if a gradient of a gradient is recorded and no check at a lower order explains the failure."""
    if len({step.output for step in scenario.gradients}) < 2 or not is_new(check, scenario, finding, bench):  # noqa: PLR2004
        return False
    return not is_broken(bench.grade(SECOND_ORDER.check(check.operator_name))) or is_right_before(scenario, bench)


THIRD_ORDER: Final = after_own_value(
    "third_order", _differentiated_three_times, reports=_of_third_order, is_about=has_derivatives
)


def _repeated_backward(check: FamilyCheck, bench: Bench) -> Verdict:
    """Run the rule twice, with another backward in between, and read everything that must not change.

    A rule that needs values must also refuse a second backward after they were freed.
    """
    name = check.operator_name
    welcome = [other for other in sorted(SEEING) if name not in SEEING and _passes_contract(other, bench)]
    least = TRIED["contracts_of_views"] if name in SEEING else 0
    fixed = (generation.contract_scenarios_of_ones, generation.scenarios_of_freed_values)
    verdict = _tried(
        check, bench, generation.contract_scenario, least=least, fixed=fixed, helpers={WEIGHT, *welcome}, scalars=False
    )
    return verdict if bench.reliance.watches_seeds else _without_watching(verdict)


def _passes_contract(other: str, bench: Bench) -> bool:
    """Return True if operands may be views made by an operator, whose own contract is tried without views."""
    return sound(bench, other) and bench.grade(CONTRACTS.check(other)).verdict == "passed"


def _without_watching(verdict: Verdict) -> Verdict:
    """Add that seeds were not read again, since a behaviour already reports that the engine writes to them."""
    reason = f"seeds are not watched: {SEEDS_STAY} fails already"
    text = f"{verdict.message}; {reason}" if verdict.message else reason
    return replace(verdict, message=text, cause=verdict.cause or SEEDS_STAY)


CONTRACTS: Final = after_own_value(
    "contracts", _repeated_backward, _weight, *FOUNDATIONS, *REPEATED, _gradients_are_apart
)


def is_about_tangents(_: FamilyCheck, scenario: Scenario, __: Finding, bench: Bench) -> bool:
    """Return True if the failure is specific to forward mode: without tangents, nothing fails."""
    return bool(scenario.jvps) and not examine(without_tangents(scenario), bench.engine).failed


def _of_forward_mode(check: FamilyCheck, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
    """Return True if the failure is specific to forward mode and the operator's own check does not report it."""
    return is_new(check, scenario, finding, bench) and is_about_tangents(check, scenario, finding, bench)


def _pushed_forward(check: FamilyCheck, bench: Bench) -> Verdict:
    """Push tangents through an operator whose backward is right, and pull a cotangent back at the same point."""
    return _tried(check, bench, generation.forward_scenario, fixed=(generation.forward_cases,))


FORWARD_MODE: Final = after_own_value("forward_mode", _pushed_forward, *FOUNDATIONS, reports=_of_forward_mode)


def _of_mixed_modes(check: FamilyCheck, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
    """Return True if the failure is specific to two modes: nothing fails in reverse mode, nor at first order."""
    in_reverse = in_modes(scenario, [False])
    if scenario == in_reverse or not scenario.gradients or not is_new(check, scenario, finding, bench):
        return False
    once = in_modes(at_lower_order(scenario), [True])
    return not any(examine(each, bench.engine).failed for each in (in_reverse, once))


def _modes(check: FamilyCheck, bench: Bench) -> list[Verdict]:
    """Return the verdicts of forward mode at first order and of reverse mode at second order."""
    return [bench.grade(family.check(check.operator_name)) for family in (FORWARD_MODE, SECOND_ORDER)]


def _by_inaccurate_mode(check: FamilyCheck, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
    """Return True if an inaccuracy of one of the modes explains the failure."""
    known = is_known_inaccuracy(scenario, finding, _modes(check, bench))
    return known or by_inaccuracy(check, scenario, finding, bench)


def _in_mixed_modes(check: FamilyCheck, bench: Bench) -> Verdict:
    """Differentiate twice: forward mode over reverse mode, reverse over forward, and forward over forward.

    A scenario in which one of the modes is wrong by itself is not reported here, see :func:`_of_mixed_modes`.
    """
    modes = _modes(check, bench)
    if undecided := _undecided(check, bench, *modes):
        return undecided
    products = check.operator_name == WEIGHT or not bench.grade(MIXED_MODES.check(WEIGHT)).failed
    fixed, weighted = (generation.mixed_modes_cases,), _weighted(check, bench) if products else False
    verdict = _tried(check, bench, generation.mixed_modes_scenario, fixed=fixed, weighted=weighted)
    return with_cause(check, bench, verdict, *modes)


MIXED_MODES: Final = after_own_value(
    "mixed_modes",
    _in_mixed_modes,
    *FOUNDATIONS,
    reports=_of_mixed_modes,
    explains=_by_inaccurate_mode,
    is_about=has_derivatives,
)


def _in_each_dtype(check: FamilyCheck, bench: Bench) -> Verdict:
    """Try the operator in turn in each dtype in which the engine offers it, if it is right in other dtypes."""
    name = check.operator_name
    cause = avoids_empty(verdict_on(bench, name))
    avoided = {"empty": 0.0} if cause else {}

    def profile(dtype: Dtype) -> Profile:
        return bench.profile(seeds=True, operators=frozenset({name}), edges=0.0, dtype=dtype, **avoided)

    def isolated(scenario: Scenario) -> Scenario:
        return bench.reliance.isolated(with_own_operands(scenario))

    def drawn(seed: int, dtype: Dtype) -> Scenario:
        return isolated(generation.operator_scenario(seed, name, profile(dtype)))

    def fixed(dtype: Dtype) -> list[Scenario]:
        """Return the first few fixed cases with the most entries, and one with more rows than the dtype can count.

        There are none in the smoke profile.
        """
        if not bench.settings.effort["large_arrays"]:
            return []
        plain = generation.plain_cases(name, profile(dtype), TRIED["first_cases"])[-TRIED["cases_in_half"] :]
        rows = generation.uncountable_scenarios(name, profile(dtype)) if check.operator.family in ADDING else ()
        return [isolated(scenario) for scenario in (*plain, *rows)]

    had = [dtype for dtype in check.row["any_dtype"] if dtype in bench.engine.adapter.dtypes]
    offered = [dtype for dtype in had if _all_run([drawn(seed, dtype) for seed in range(TRIED_IN_DTYPE)], check, bench)]
    if not offered:
        return bench.lacks(check, *(f"{name} in {dtype}" for dtype in had))

    def in_turn(seed: int) -> Scenario:
        return drawn(seed, offered[seed % len(offered)])

    cases = (scenario for dtype in offered for scenario in fixed(dtype))
    return bench.search(check, in_turn, bench.settings.effort["half_precision"], fixed=cases, cause=cause)


def _all_run(scenarios: Sequence[Scenario], check: FamilyCheck, bench: Bench) -> bool:
    """Return True if no scenario ends with an error. In a dtype that is not offered, errors may be of any kind."""
    if any(map(bench.engine.adapter.dtypes_lacking, scenarios)):
        return False
    bench.prepare(scenarios, check)
    return not any(refuses(scenario, bench.engine) for scenario in scenarios)


def _of_the_dtype(check: FamilyCheck, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
    """Return True if the failure is specific to the dtype and not reported by the operator's own check."""
    return is_new(check, scenario, finding, bench) and is_about_dtype(scenario, finding, bench.engine)


HALF_PRECISION: Final = after_own_value("half_precision", _in_each_dtype, KEPT_DTYPES, reports=_of_the_dtype)
