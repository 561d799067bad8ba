"""Is an engine caught whose gradients are right, but not the gradients of its gradients, and blamed for just that?"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import pytest

from refgrad.generation import Profile, double_backward_scenario, second_order_scenario, shrink
from refgrad.grading.bench import Bench
from refgrad.grading.checks.behaviour_checks import BehaviourCheck
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.families import all_checks
from refgrad.grading.checks.isolation import without_seeds
from refgrad.grading.checks.operators.derivatives import SECOND_ORDER
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.adapter import AdapterError, TapeAdapter, find_adapter
from refgrad.native.engine import Engine, observe, reproduce, start
from refgrad.native.engine_names import registered_engines
from refgrad.operators import operator_table
from refgrad.scenario import Scenario, parse
from tests.effort import sampled
from tests.native.reference import ADAPTER
from tests.native.tiny_engine import tiny_adapter

pytestmark = pytest.mark.turns(2)

BEFORE = """
import refgrad.engine as torch

def detached(value, slope, x):  # the right value and gradient, but nothing of it varies with x any more
    x0 = x.detach()
    return value.detach() + (x - x0) * slope.detach()

def without_a_term(value, term, x):  # the right value and gradient, but the second derivative lacks this term
    step = x - x.detach()
    return value - step * step * term.detach() * 0.5
"""

FAULTS: Mapping[str, Mapping[str, str]] = {
    "a slope saved as a bare array": {"sin": "detached(torch.sin({x}), torch.cos({x}), {x})"},
    "a factor of two lost in a double backward": {
        "tanh": "without_a_term(torch.tanh({x}), -torch.tanh({x}) * (1 - torch.square(torch.tanh({x}))), {x})"
    },
    "a second derivative wrong by one part in a million": {
        "exp": "without_a_term(torch.exp({x}), torch.exp({x}) * 1e-6, {x})"
    },
}

DIFFERENTIATED_TWICE = """
x = leaf float64[2] {0x1.8p+0 -0x1p-1} requires_grad
y = leaf float64[2] {0x1p-1 0x1p+1} requires_grad
m = multiply x x
p = multiply m y
l = sin p
h = grad l x seed float64[2] {0x1p+0 0x1p+1}
backward h seed float64[2] {0x1p-1 -0x1.8p+1} retain_graph
read grad x
read grad y
read value h
q = multiply h h
t = sum q
backward t retain_graph
read grad y
g = grad h x seed float64[2] {0x1p+0 0x1p+0}
read value g
"""


def few(adapter: TapeAdapter) -> TapeAdapter:
    """The adapter with those operators alone that the behaviours use: graphs of all of them take minutes."""
    used = frozenset().union(*(s.operators for b in all_behaviours() for s in b.scenarios)) | {"tanh"}
    return replace(adapter, operators={name: text for name, text in adapter.operators.items() if name in used})


def faulty(name: str) -> Engine:
    adapter = few(ADAPTER)
    return Engine(replace(adapter, name=name, setup=BEFORE, operators={**adapter.operators, **FAULTS[name]}))


@cache
def faulty_verdicts(name: str) -> dict[str, Verdict]:
    return second_order_verdicts(faulty(name))


def second_order_verdicts(engine: Engine) -> dict[str, Verdict]:
    bench = Bench(engine, Settings("smoke"))
    checks = [c for c in all_checks() if c.id.startswith(("second_order/", "higher_order/", "graphs/double"))]
    return {check.id: bench.grade(check) for check in checks}


def test_every_differentiable_operator_has_a_check() -> None:
    checked = {check.operator_name for check in all_checks() if check.chapter == "second_order"}
    sloping = {n for n, o in operator_table().items() if not all(map(o.vanishes, o.differentiable_arguments))}
    assert checked == sloping
    assert len(sloping) > len(operator_table()) - 10


def test_the_reference_engine_passes() -> None:
    verdicts = second_order_verdicts(start(few(ADAPTER)))
    assert {v.verdict for v in verdicts.values() if not v.message.startswith("the engine has no ")} == {"passed"}
    assert verdicts["graphs/double_backward"].verdict == verdicts["second_order/tanh"].verdict == "passed"


@pytest.mark.slow
def test_the_reference_engine_passes_with_all_operators() -> None:
    assert {v.verdict for v in second_order_verdicts(start(ADAPTER)).values()} == {"passed"}


@pytest.mark.parametrize("name", sampled(FAULTS, 4, turns=3))
def test_a_faulty_double_backward_is_caught_and_blamed_on_its_operator(name: str) -> None:
    (operator,) = FAULTS[name]
    verdicts = faulty_verdicts(name)
    assert {v.id for v in verdicts.values() if v.failed} == {f"second_order/{operator}"}
    assert verdicts["graphs/double_backward"].verdict == "passed"
    assert Bench(faulty(name), Settings("smoke")).grade(_operator_check(operator)).verdict == "passed"
    shown = parse(verdicts[f"second_order/{operator}"].scenario)
    assert shown.gradients
    assert len(shown.steps) <= 8


def _operator_check(operator: str) -> Check:
    return next(check for check in all_checks() if check.id == f"operators/{operator}")


def test_behaviours_that_fail_on_a_wrong_double_backward_are_not_judged() -> None:
    adapter = few(ADAPTER)
    exp = {"exp": "without_a_term(torch.exp({x}), torch.exp({x}), {x})"}
    wrong = replace(adapter, name="without a second derivative", setup=BEFORE, operators={**adapter.operators, **exp})
    verdicts = second_order_verdicts(Engine(wrong))
    assert verdicts["higher_order/gradient_penalty"].verdict == "inconclusive"
    assert verdicts["higher_order/gradient_penalty"].cause == "second_order/exp"


def test_a_double_backward_that_is_merely_inaccurate_blinds_no_behaviour() -> None:
    verdicts = faulty_verdicts("a second derivative wrong by one part in a million")
    assert verdicts["second_order/exp"].verdict == "inaccurate"
    assert verdicts["higher_order/gradient_penalty"].verdict == "passed"


def test_an_error_of_one_part_in_a_million_is_seen_in_behaviours_too() -> None:
    engine = faulty("a second derivative wrong by one part in a million")
    behaviours = [
        c.behaviour for c in all_checks() if isinstance(c, BehaviourCheck) and c.id.startswith("higher_order/")
    ]
    scenarios = [scenario for behaviour in behaviours for scenario in behaviour.scenarios]
    assert {examine(s, engine).outcome for s in scenarios if "exp" in s.operators and s.backwards} >= {"inaccurate"}


def test_an_engine_that_differentiates_once_is_not_asked_to_do_it_twice() -> None:
    found = second_order_verdicts(start(replace(ADAPTER, name="once", grad=None, recorded_backward=None)))
    assert {verdict.verdict for verdict in found.values()} == {"unsupported"}
    assert "double_backward" in found["second_order/exp"].message


def test_double_backward_is_offered_by_those_that_spell_it() -> None:
    assert "double_backward" in ADAPTER.features
    assert "double_backward" not in replace(ADAPTER, grad=None).features
    assert "double_backward" not in tiny_adapter().features
    assert "double_backward" in tiny_adapter(grad="None").features
    with pytest.raises(AdapterError, match="grad: unknown placeholder"):
        tiny_adapter(grad="{x}")


def test_none_at_all_stands_for_zeros_only_where_an_engine_may_choose() -> None:
    relu = "x = leaf float64[] {0x1p+0} requires_grad\nl = relu x\nh = grad l x\nbackward h\nread grad x\n"
    assert examine(parse(relu), start(ADAPTER)).outcome == "passed"
    silent = start(replace(ADAPTER, name="silent", gradient="None"))
    assert examine(parse(relu), silent).outcome == "passed"
    assert examine(parse(relu.replace("relu", "exp")), silent).outcome == "missing"
    assert examine(parse(relu.replace("0x1p+0", "0x0p+0")), silent).outcome == "inconclusive"


def test_seeds_of_recorded_gradients_are_put_into_weights() -> None:
    text = "x = leaf float64[2] {1 2} requires_grad\nl = exp x\nh = grad l x seed float64[2] {1 2}\nread value h"
    seedless = without_seeds(parse(text))
    assert all(step.seed is None for step in seedless.gradients)
    assert examine(seedless, start(ADAPTER)).outcome == "passed"


@pytest.mark.parametrize("make", [lambda seed: second_order_scenario(seed, "matmul"), double_backward_scenario])
def test_generated_scenarios_record_one_gradient_and_read_it(make: Callable[[int], Scenario]) -> None:
    for seed in range(30):
        scenario = make(seed)
        assert len(scenario.gradients) == len(scenario.backwards) == 1
        assert scenario == make(seed)
        assert examine(scenario, start(ADAPTER)).outcome in {"passed", "inconclusive"}


def test_scenarios_with_recorded_gradients_are_made_small() -> None:
    def fails(scenario: Scenario) -> bool:
        return bool(scenario.gradients) and "tanh" in scenario.operators

    plain = Profile(operators=frozenset({"add", "exp", "matmul", "multiply", "sin", "sum", "tanh"}))
    found = next(s for seed in range(200) if fails(s := double_backward_scenario(seed, plain)))
    small = shrink(found, fails)
    assert fails(small)
    assert len(small.applications) <= 2
    assert len(small.steps) <= 5


@pytest.mark.engines
@pytest.mark.parametrize("name", ["refgrad", "torch", "autograd"])
def test_reproductions_print_what_was_observed(name: str) -> None:
    if name != "refgrad":
        pytest.importorskip(name, reason=f"needs refgrad[{name}]")
    assert name in registered_engines()
    engine = start(find_adapter(name))
    scenario = parse(DIFFERENTIATED_TWICE)
    assert examine(scenario, engine).outcome == "passed"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(reproduce(scenario, engine), {})
    printed = out.getvalue()
    adapter = engine.adapter
    if isinstance(adapter, TapeAdapter):
        arrays = [o.array for o in observe(scenario, engine) if o.array is not None]
        assert printed == "".join(f"{array}\n" for array in arrays)
    else:
        assert printed.count("array(") + printed.count("[") >= 5


def test_a_failure_without_a_recorded_gradient_is_none_of_second_order() -> None:
    scenario = parse("x = leaf float64[] {0x1p+0} requires_grad\ny = exp x\nbackward y\nread grad x\n")
    engine = start(ADAPTER)
    finding, bench = examine(scenario, engine), Bench(engine, Settings("smoke"))
    assert not SECOND_ORDER.reports(SECOND_ORDER.check("exp"), scenario, finding, bench)
