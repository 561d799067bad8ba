"""Programs of findings show one result, as users of a library write them, and are data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from refgrad.generation.single_operators.derivatives import operator_scenario
from refgrad.native.adapter import find_adapter
from refgrad.native.display import displayed, program_lines
from refgrad.native.engine import observe, start
from refgrad.native.statements import Call, LocalFunction, Show, Statement, statement_of, statement_row
from refgrad.report.findings.tidying import tidied
from refgrad.report.findings.trees import program_of
from refgrad.scenario import Read, Scenario, parse
from tests.native.reference import ADAPTER
from tests.snapshots.placement import PlainText

SECOND = """\
x = leaf float64[] {0x1p+0} requires_grad
y = leaf float64[] {0x1p+1} requires_grad
unused = exp y
a = multiply x y
b = exp a
c = grad b x
d = sin c
backward d
read grad y
"""
SEEDED = """\
x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad
a = exp x
backward a seed float64[2] {0x1p+1 0x1p+0}
read grad x
"""
FIRST = """\
x = leaf float64[] {0x1p+0} requires_grad
a = exp x
backward a
read grad x
"""
PUSHED = """\
x = leaf float64[] {0x1p+0} requires_grad
y = leaf float64[] {0x1p+1} requires_grad
a = exp x
b = multiply a y
j = jvp b x float64[] {0x1p+0} y float64[] {0x1p-1}
read value j
read value b
"""
ZEROED = """\
x = leaf float64[] {0x1p+0} requires_grad
y = leaf float64[] {0x1p+1} requires_grad
a = multiply x y
b = exp a
backward b retain_graph
zero grad x
backward b
read grad x
read value b
read grad y
"""


def shown(engine: str, text: str, **spelled: str) -> str:
    """Return what a finding on an engine computes."""
    scenario = parse(text)
    statements = displayed(scenario, find_adapter(engine), lambda step, _: spelled[step.operator])
    return tidied([], program_of(statements)).rpartition("print(")[0]


@pytest.mark.parametrize(
    ("engine", "spelling", "program"),
    [
        ("autograd", "np.exp({x})", "x = np.array(1.0)\ngradient_of_x = autograd.grad(np.exp)(x)\n"),
        ("jax", "jnp.exp({x})", "x = jnp.array(1.0, dtype=jnp.float64)\ngradient_of_x = jax.grad(jnp.exp)(x)\n"),
        (
            "tensorflow",
            "tf.exp({x})",
            (
                "x = tf.constant(1.0, dtype=tf.float64)\nwith tf.GradientTape(persistent=True) as tape:\n"
                "    tape.watch(x)\n    a = tf.exp(x)\ngradient_of_x = tape.gradient(a, x)\n"
            ),
        ),
        ("pytensor", "pt.exp({x})", "x = leaf(np.array(1.0))\na = pt.exp(x)\ngradient_of_x = pytensor.grad(a, x)\n"),
        ("num-dual", "{x}.exp()", "x = num_dual.Dual64(1.0, 1.0)\na = x.exp()\n"),
    ],
)
def test_a_gradient_is_written_as_users_of_the_library_write_it(engine: str, spelling: str, program: str) -> None:
    assert shown(engine, FIRST, exp=spelling) == program


@pytest.mark.parametrize(
    ("engine", "program"),
    [
        (
            "autograd",
            (
                "x = np.array([1.0, 2.0])\npullback, _ = autograd.make_vjp(np.exp)(x)\n"
                "gradient_of_x = pullback(np.array([2.0, 1.0]))\n"
            ),
        ),
        (
            "mlx",
            (
                "x = mx.array([1.0, 2.0], dtype=mx.float32)\n"
                "[gradient_of_x] = mx.vjp(np.exp, [x], [mx.array([2.0, 1.0], dtype=mx.float32)])[1]\n"
            ),
        ),
    ],
)
def test_a_seed_other_than_one_is_pulled_back(engine: str, program: str) -> None:
    assert shown(engine, SEEDED, exp="np.exp({x})") == program


def test_a_failing_backward_asks_for_the_gradients_of_all_leaves() -> None:
    text = "x = leaf float64[] {1} requires_grad\ny = leaf float64[] {2} requires_grad\na = multiply x y\nbackward a\n"
    spelled = displayed(parse(text), find_adapter("tensorflow"), lambda _, __: "{x} * {y}")
    assert tidied([], program_of(spelled)).endswith(
        "    tape.watch(x)\n    tape.watch(y)\n    a = x * y\ntape.gradient(a, x)\ntape.gradient(a, y)\n"
    )


def test_a_function_that_reads_what_another_one_varies_stands_within_it() -> None:
    program = shown("autograd", SECOND, exp="np.exp({x})", multiply="{x} * {y}", sin="np.sin({x})")
    assert program == (
        "x = np.array(1.0)\ny = np.array(2.0)\n\n\n"
        "def f(x, y):\n\n"
        "    def g(x):\n        a = x * y\n        return np.exp(a)\n"
        "    c = autograd.grad(g)(x)\n    return np.sin(c)\n\n\n"
        "gradient_of_y = autograd.grad(f, 1)(x, y)\n"
    )


@pytest.mark.parametrize("engine", ["autograd", "commons-math", "jax", "tensorflow", "torch"])
def test_a_read_is_shown_with_the_steps_that_it_needs(engine: str, snapshot: SnapshotAssertion) -> None:
    adapter, spelled = find_adapter(engine), {"exp": "exp({x})", "multiply": "{x} * {y}", "sin": "sin({x})"}
    lines = []
    for scenario in map(parse, (SECOND, ZEROED, PUSHED) if "forward_mode" in adapter.features else (SECOND, ZEROED)):
        for step in (number for number, each in enumerate(scenario.steps, 1) if isinstance(each, Read)):
            statements = displayed(scenario, adapter, lambda each, _: spelled[each.operator], step)
            lines += ["", *program_lines(statements, adapter.syntax)]
    assert "\n".join(lines) == snapshot(extension_class=PlainText)


def test_a_step_that_the_result_does_not_need_is_left_out() -> None:
    assert "unused" not in shown("jax", SECOND, exp="jnp.exp({x})", multiply="{x} * {y}", sin="jnp.sin({x})")


@pytest.mark.parametrize(("step", "end"), [(4, ["Show", "Leave"]), (6, ["Leave", "Show"])])
def test_a_region_is_left_once_where_it_ends_or_behind_the_step_that_is_shown(step: int, end: list[str]) -> None:
    text = "x = leaf float64[] {0x1p+0} requires_grad\nenter no_grad\na = exp x\nread value a\nleave\nread value a\n"
    statements = displayed(parse(text), ADAPTER, start(ADAPTER).spelling, step)
    assert [type(each).__name__ for each in statements] == ["Call", "Enter", "Call", *end]


def test_only_the_last_of_two_backwards_shows_its_seeds() -> None:
    backward = "backward y seed float64[] {0x1p+1} retain_graph\n"
    scenario = parse(f"x = leaf float64[] {{0x1p+0}} requires_grad\ny = exp x\n{backward}{backward}")
    statements = displayed(scenario, ADAPTER, start(ADAPTER).spelling, 4, watch_seeds=True)
    assert [type(each).__name__ for each in statements[-4:]] == ["Call", "Call", "Call", "Show"]


def test_a_program_in_a_language_without_display_templates_has_its_pullback() -> None:
    statements = displayed(parse(FIRST), find_adapter("adolc"), lambda *_: "exp({x})")
    assert [type(each) for each in statements] == [Call, LocalFunction, Call, Call, Show]


@given(st.integers(0, 10**6), st.sampled_from(["exp", "matmul", "sum", "where", "index"]))
def test_statements_are_read_back_as_they_were_written(seed: int, operator: str) -> None:
    statements = spread(operator_scenario(seed, operator))
    rows = json.loads(json.dumps([statement_row(each) for each in statements]))
    assert [statement_row(statement_of(row)) for row in rows] == rows


@pytest.mark.parametrize(
    "row",
    [
        None, {}, {"call": {}}, {"call": {"template": 1, "fields": {}}}, {"delete": "x; import os"}, {"more": 1},
        {"call": {"template": "f({x})", "fields": {"x": {"name": "y)"}}}}, {"function": {"name": "f("}},
        {"call": {"template": "", "fields": {"x": {"array": {"dtype": "float64", "shape": [], "data": "§"}}}}},
    ],
)  # fmt: skip
def test_what_is_no_statement_is_refused(row: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        statement_of(row)  # type: ignore[arg-type]


@given(st.integers(0, 10**6), st.sampled_from(["exp", "multiply", "sum"]))
def test_a_program_gives_what_the_engine_gave(seed: int, operator: str) -> None:
    scenario = operator_scenario(seed, operator)
    *_, last = scenario.steps
    statements = spread(scenario)
    (show,) = (each for each in statements if isinstance(each, Show))
    text = tidied([], program_of([*(each for each in statements if not isinstance(each, Show)), show]))
    names: dict[str, object] = {"np": np, "print": lambda value: names.update(seen=value)}
    exec(f"{ADAPTER.setup}\n{text}", names)
    assert last is scenario.steps[-1]
    np.testing.assert_array_equal(names["seen"], observe(scenario, start(ADAPTER))[-1].array)


def spread(scenario: Scenario) -> tuple[Statement, ...]:
    return displayed(scenario, ADAPTER, start(ADAPTER).spelling)
