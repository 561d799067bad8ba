"""Tests of how small a failing scenario becomes, and of what the shrinker must keep."""

from collections.abc import Callable
from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refgrad.generation import Profile, operator_scenario, random_scenario, shrink, weight
from refgrad.generation.repair import evaluated
from refgrad.generation.shrinking import with_short_names
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from refgrad.scenario import Scenario, parse
from tests.generation.drawn import drawn
from tests.generation.planted_faults import FAULTS
from tests.generation.scenario_audit import complaints

pytestmark = pytest.mark.turns(2)

TRIED = 6000


def failing(fault: Callable[[Scenario], bool], count: int) -> list[Scenario]:
    return list(islice(filter(fault, map(drawn, range(TRIED))), count))


class Counted:
    """A predicate that counts how often it is asked."""

    def __init__(self, predicate: Callable[[Scenario], bool]) -> None:
        self.predicate = predicate
        self.calls = 0

    def __call__(self, scenario: Scenario) -> bool:
        self.calls += 1
        return self.predicate(scenario)


@pytest.mark.parametrize(
    ("name", "operators", "steps", "calls"),
    [
        ("wrong tanh", 1, 3, 30),
        ("fan-out overwritten", 2, 5, 100),
        ("two inner axes not summed", 1, 5, 60),
        ("maximum over two axes", 1, 3, 50),
        ("second backward overwrites", 1, 5, 60),
        ("repeated index overwritten", 1, 3, 40),
    ],
)
def test_a_planted_fault_shrinks_to_a_handful_of_steps(name: str, operators: int, steps: int, calls: int) -> None:
    """At least nine times in ten; an operator that would then stand on a kink may keep one before it."""
    scenarios = failing(FAULTS[name], 10)
    sizes = []
    for scenario in scenarios:
        fails = Counted(FAULTS[name])
        small = shrink(scenario, fails)
        assert FAULTS[name](small)
        assert len(small.applications) <= operators + 1
        assert sum(leaf.value.size for leaf in small.leaves) <= 8
        assert fails.calls <= 2 * calls
        sizes.append(len(small.applications) <= operators and len(small.steps) <= steps and fails.calls <= calls)
    assert len(scenarios) == 10
    assert sum(sizes) >= 9


def test_the_smallest_wrong_tanh_is_known() -> None:
    small = {shrink(scenario, FAULTS["wrong tanh"]).text for scenario in failing(FAULTS["wrong tanh"], 5)}
    assert "a = leaf float64[] {0x1p+0} requires_grad\nb = tanh a\nbackward b\n" in small


def test_what_is_read_stays_where_the_failure_needs_it() -> None:
    def fails(scenario: Scenario) -> bool:
        return "tanh" in scenario.operators and "read grad" in scenario.text

    (scenario,) = failing(fails, 1)
    assert shrink(scenario, fails) == parse("""
        a = leaf float64[] {0x1p+0} requires_grad
        b = tanh a
        backward b
        read grad a
    """)


@given(seed=st.integers(0, 2**32), bits=st.integers(1, 2**16 - 1))
@example(seed=2_306_563_278, bits=1)  # the reciprocal of the distance of equal points
def test_whatever_fails_stays_within_the_rules_and_gets_no_heavier(seed: int, bits: int) -> None:
    """An arbitrary predicate: a hash of the operators and the number of steps.

    Operands may leave the sample ranges, and then results may be larger than drawn ones, but they stay finite.
    """

    def fails(scenario: Scenario) -> bool:
        return bool(bits >> (len(scenario.operators) * 7 + len(scenario.steps)) % 16 & 1)

    scenario = random_scenario(seed)
    if fails(scenario):
        small = shrink(scenario, fails, limit=100)
        assert fails(small)
        assert weight(small) <= weight(with_short_names(scenario))
        rules = ("sample range", "too large", "too few", "reads at the end", "last graph")
        assert [text for text in complaints(small, Profile()) if not any(rule in text for rule in rules)] == []


def test_shrinking_is_deterministic() -> None:
    scenarios = failing(FAULTS["fan-out overwritten"], 5)
    once = [shrink(scenario, FAULTS["fan-out overwritten"]).text for scenario in scenarios]
    assert once == [shrink(scenario, FAULTS["fan-out overwritten"]).text for scenario in scenarios]


def test_a_shrunk_scenario_shrinks_no_further() -> None:
    for name, fault in FAULTS.items():
        small = shrink(failing(fault, 1)[0], fault)
        assert shrink(small, fault) == small, name


def test_the_number_of_questions_is_bounded() -> None:
    (scenario,) = failing(FAULTS["fan-out overwritten"], 1)
    fails = Counted(FAULTS["fan-out overwritten"])
    shrink(scenario, fails, limit=10)
    assert fails.calls <= 12


def test_no_derivative_stays_in_forward_mode_unless_the_failure_needs_it() -> None:
    scenario = parse("""
        a = leaf float64[] {0x1p+0} requires_grad
        b = tanh a
        c = grad b a forward
        backward c forward
        read grad a
    """)
    small = shrink(scenario, lambda each: bool(each.gradients))
    assert [step.forward for step in small.gradients] == [False]
    kept = shrink(scenario, lambda each: any(step.forward for step in each.gradients))
    assert [step.forward for step in kept.gradients] == [True]
    assert "backward c forward" not in kept.text


def test_two_operands_are_two_leaves_unless_the_failure_needs_one() -> None:
    scenario = parse("""
        a = leaf float64[2, 2] {0x1p+0 0x1p+1 0x1p+2 0x1p+3} requires_grad
        b = multiply a a
        backward b seed float64[2, 2] {0x1p+0 0x1p+0 0x1p+0 0x1p+0}
        read grad a
    """)
    small = shrink(scenario, lambda each: "multiply" in each.operators and "read grad" in each.text)
    assert "c = multiply a b\n" in small.text
    shared = shrink(scenario, lambda each: any(len({*step.arguments}) == 1 for step in each.applications))
    assert "b = multiply a a\n" in shared.text


def test_a_scenario_off_its_kinks_is_not_moved_onto_one() -> None:
    scenario = operator_scenario(0, "relu")
    small = shrink(scenario, lambda candidate: "relu" in candidate.operators)
    assert "{0x0p+0}" not in small.text
    assert complaints(small, Profile(edges=0)) in (
        [],
        ["the reads at the end are not those of every gradient and of every output"],
    )


def test_what_nothing_needs_stays_where_the_failure_needs_it() -> None:
    scenario = parse("""
        x = leaf float64[] {0x1.8p+0} requires_grad
        y = exp x
        z = sin x
        w = cos x
        backward y
        read grad x
    """)
    small = shrink(scenario, lambda candidate: "sin" in candidate.operators and "exp" in candidate.operators)
    assert small.operators == {"sin", "exp"}


def test_a_step_that_is_bound_to_fail_is_kept() -> None:
    scenario = parse("""
        x = leaf float64[2] {0x1.8p+0 0x1p+0} requires_grad
        y = exp x
        z = sin y
        backward z
        backward z
    """)
    small = shrink(scenario, lambda candidate: len(candidate.backwards) == 2 and "retain_graph" not in candidate.text)
    assert len(small.backwards) == 2
    assert len(small.steps) < len(scenario.steps)


def test_a_scenario_that_does_not_evaluate_is_returned_as_it_is() -> None:
    scenario = parse("x = leaf float64[2] {0x1p+0 0x1p+0}\ny = leaf float64[3] {0x1p+0 0x1p+0 0x1p+0}\nz = add x y")
    assert shrink(scenario, lambda _: True) is scenario


def test_no_axis_out_of_range_is_a_simpler_one() -> None:
    """NumPy's function takes axes modulo the rank, so that 3 would be the same axis as -3."""
    scenario = parse("""
        x = leaf float64[2,1,2] {0x1p+0 0x1p+1 0x1p+2 0x1p+3} requires_grad
        y = gather x axis=-3 indices=(((0,0),),)
        backward y seed float64[1,1,2] {0x1p+0 0x1p+0}
    """)

    def fails(candidate: Scenario) -> bool:
        (step,) = candidate.applications
        axis = dict(step.attributes)["axis"]
        return len(candidate.leaves[0].value.shape) == 3 and axis in {-3, 3}

    assert fails(scenario)
    assert dict(shrink(scenario, fails).applications[0].attributes)["axis"] == -3


def test_attributes_are_valid_where_an_operator_takes_a_recorded_gradient() -> None:
    """What the gradient holds is not known, but its shape is."""
    scenario = parse("""
        x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad
        y = multiply x x
        h = grad y x seed float64[2] {0x1p+0 0x1p+0}
        z = unflatten h axis=-1 sizes=(2,1)
        backward z seed float64[2,1] {0x1p+0 0x1p+0}
    """)

    def fails(candidate: Scenario) -> bool:
        axes = [dict(step.attributes)["axis"] for step in candidate.applications if step.operator == "unflatten"]
        return axes in ([-1], [1])

    (step,) = (step for step in shrink(scenario, fails).applications if step.operator == "unflatten")
    assert dict(step.attributes)["axis"] == -1


def test_exceptions_of_the_predicate_are_passed_on() -> None:
    def fails(_scenario: Scenario) -> bool:
        raise KeyError

    with pytest.raises(KeyError):
        shrink(random_scenario(0), fails)


def test_names_become_letters_in_order_of_definition() -> None:
    scenario = with_short_names(random_scenario(2, Profile(length=(20, 20))))
    assert list(scenario.definitions)[:26] == list("abcdefghijklmnopqrstuvwxyz")[: len(scenario.definitions)]


@pytest.mark.parametrize("name", [name for name, row in operator_table().items() if row.operands == "same"])
def test_operands_that_must_be_alike_stay_so(name: str) -> None:
    def fails(scenario: Scenario) -> bool:
        """One operand is no scalar: that alone would leave the others free to become scalars."""
        return name in scenario.operators and scenario.leaves[-1].value.shape != ()

    for scenario in islice((s for seed in range(50) if fails(s := operator_scenario(seed, name))), 2):
        small = shrink(scenario, fails)
        (step,) = (step for step in small.applications if step.operator == name)
        values = evaluate(small, Float64())
        assert len({values[argument].shape for argument in step.arguments}) == 1


@pytest.mark.parametrize(
    ("actions", "is_proper"),
    [
        ("t = jvp y x float64[] {0x1p+0}", True),
        ("t = jvp z x float64[] {0x1p+0}", False),
        ("g = grad y x", True),
        ("backward y", True),
        ("backward y seed float64[] {0x1p+1}", True),
        ("backward y seed float64[1] {0x1p+1}", False),
        ("backward y\nbackward y", False),
        ("backward y retain_graph\nbackward y", True),
        ("backward x", False),
        ("backward z", False),
    ],
)
def test_a_scenario_is_proper_if_no_step_is_certain_to_fail(actions: str, *, is_proper: bool) -> None:
    leaves = "x = leaf float64[] {0x1p+0} requires_grad\nc = leaf float64[] {0x1p+0}\n"
    scenario = evaluated(parse(f"{leaves}y = exp x\nz = exp c\n{actions}\n"))
    assert scenario is not None
    assert scenario.proper is is_proper


def test_a_call_among_other_steps_shrinks_to_its_inner_way() -> None:
    scenario = parse(
        "x = leaf float64[2] {0x1.8p+0 -0x1p-1} requires_grad\nz = leaf float64[2] {0x1.4p-1 0x1.3p+0} requires_grad\n"
        "a = sin z\nb = call jacrev_of_jacfwd own_square x\nc = sum b\nd = exp a\ne = call vmap_of_rule own_square x\n"
        "backward d seed float64[2] {0x1p+0 0x1p+0}\nbackward c retain_graph\nread grad z\nread grad x\n"
    )
    short = shrink(scenario, lambda each: any("jacfwd" in call.ways for call in each.calls) and bool(each.backwards))
    assert short.text == ("a = leaf float64[] {0x1p+0} requires_grad\nb = call jacfwd own_square a\nbackward b\n")
