"""Is a composite operator what its steps are, in every number system and in the engine?"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from refgrad.engine import softmax, tensor
from refgrad.generation import Profile, operator_scenario
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate, expanded, noted, noted_once
from refgrad.lifecycle import predict
from refgrad.operators import Argument, Composite, Operators, operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import parse
from tests.effort import each
from tests.interpreter.batched import BatchedFloat64
from tests.oracles.cross_checks.finite_differences import finite_differences

COMPOSITES = [name for name, row in operator_table().items() if row.composite is not None]

PROGRAM = """\
x = leaf float64[2,3] {0x1p+0 0x1p+1 -0x1p+0 0x1.8p+1 0x0p+0 0x1p-1} requires_grad
y = softmax x axis=-1
z = multiply y y
backward z seed float64[2,3] {0x1p+0 0x1p+0 0x1p+0 0x1p+0 0x1p+1 0x1p+0}
read grad x
"""


def test_a_scenario_is_written_out_under_the_same_names() -> None:
    scenario = parse(PROGRAM)
    plain = expanded(scenario)
    assert [step.to_text() for step in plain.steps][1:-3] == [
        "y__1 = exp x",
        "y__2 = sum y__1 axis=-1 keepdims=true",
        "y = divide y__1 y__2",
    ]
    assert np.array_equal(evaluate(plain, Float64())["z"], evaluate(scenario, Float64())["z"])
    assert expanded(plain) is plain


def test_names_similar_to_inner_ones_are_unchanged() -> None:
    renamed = parse(PROGRAM.replace("z", "y__1"))
    assert set(evaluate(renamed, Float64())) <= set(expanded(renamed).definitions)


def test_numbers_that_are_no_float64_need_the_steps() -> None:
    with pytest.raises(ScenarioEvaluationError, match="softmax is a composite operator: write the scenario out"):
        evaluate(parse(PROGRAM), BatchedFloat64({}))


def test_the_oracles_agree_on_a_composite() -> None:
    scenario = parse(PROGRAM)
    (contribution,) = ((step.output, step.seed) for _, step in scenario.backwards)
    certified = CertifiedOracle(scenario).gradient("x", (contribution,))
    difference = finite_differences(scenario, (contribution,))["x"]
    assert np.all(np.abs(certified.midpoint - difference.value) <= difference.error + certified.radius)
    assert len(predict(scenario)) == len(scenario.steps)


def test_what_a_composite_makes_in_vain_is_left_out() -> None:
    wasteful = Composite(lambda ops, x: (ops.exp(x), ops.sin(x))[1])
    row = operator_table()["softmax"]
    object_with = type(row)(name="wasteful", family="made up", summary="", arguments=row.arguments, composite=wasteful)
    trace = noted(object_with, [np.array(1.0)], {})
    assert [entry.operator.name for entry in trace.entries if entry.operator] == ["sin"]


def test_a_composite_that_returns_its_argument_is_one_step_all_the_same() -> None:
    row = operator_table()["softmax"]
    identity = type(row)(
        name="identity", family="made up", summary="", arguments=row.arguments, composite=Composite(lambda _, x: x)
    )
    assert noted(identity, [np.array([1.0, 2.0])], {}).result.array.tolist() == [1.0, 2.0]


@each("dtype", ["float16", "float32", "float64"])
@each("name", COMPOSITES)
def test_numbers_inside_of_a_composite_do_not_widen_it(
    name: str, dtype: Literal["float16", "float32", "float64"]
) -> None:
    scenario = operator_scenario(1, name, Profile(dtype=dtype))
    values = evaluate(scenario, Float64())
    assert {value.dtype.name for value in values.values()} - {"bool"} <= {dtype}


def test_a_number_has_the_dtype_of_its_operand_and_a_constant_that_of_the_inputs() -> None:
    def mixed(ops: Operators, x: object, y: object) -> object:
        return ops.add(ops.multiply(ops.add(x, 1.0), ops.constant([2.0])), y)

    row = operator_table()["softmax"]
    arguments = (Argument("x"), Argument("y"))
    operator = type(row)(name="mixed", family="made up", summary="", arguments=arguments, composite=Composite(mixed))
    trace = noted(operator, [np.ones(2, np.float32), np.ones(2, np.float64)], {})
    assert [entry.array.dtype for entry in trace.entries] == ["float32", "float32", "float64", "float64", "float64"]


def test_what_a_dtype_has_not_is_written_out_in_full() -> None:
    """A truth of float16 is that of 1e-5, not of what float16 makes of it; a two is a two."""
    scenario = parse(
        "x = leaf float16[1,3] {0x1p+0 0x1p+1 0x1.8p+1} requires_grad\n"
        "w = leaf float16[3] {0x1p+0 0x1p+0 0x1p+0}\n"
        "b = leaf float16[3] {0x0p+0 0x0p+0 0x0p+0}\n"
        "y = layer_norm x w b eps=0x1.4f8b588e368f1p-17\n"
        "backward y seed float16[1,3] {0x1p+0 0x0p+0 0x0p+0}"
    )
    constants = {leaf.value.dtype: leaf.value.to_numpy() for leaf in expanded(scenario).leaves if "__" in leaf.name}
    assert constants["float64"] == 1e-5
    assert set(constants) <= {"float16", "float64"}


@pytest.mark.parametrize("attribute", ["stride", "dilation"])
def test_windows_that_do_not_move_on_are_refused(attribute: str) -> None:
    row = operator_table()["conv1d"]
    arrays = [np.ones((1, 1, 4)), np.ones((1, 1, 2)), np.ones(1)]
    with pytest.raises(ValueError, match="at least 1"):
        noted(row, arrays, row.bind({attribute: 0}))


def test_attributes_that_divide_by_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="'groups': 0"):
        noted(operator_table()["channel_shuffle"], [np.ones((1, 2, 2, 2))], {"groups": 0})


def test_the_engine_takes_the_steps_that_do_not_overflow() -> None:
    x = tensor([1000.0, 1001.0], requires_grad=True)
    softmax(x)[1].backward()
    p = 1 / (1 + np.exp(-1.0))
    assert x.grad.tolist() == pytest.approx([-p * (1 - p), p * (1 - p)], rel=1e-12)


@each("name", COMPOSITES)
def test_a_composite_is_drawn_and_written_out(name: str) -> None:
    for seed in range(5):
        scenario = operator_scenario(seed, name)
        plain = expanded(scenario)
        assert name not in plain.operators
        assert all(operator_table()[inner].composite is None for inner in plain.operators)
        values, inner = evaluate(scenario, Float64()), evaluate(plain, Float64())
        assert all(np.array_equal(values[key], inner[key], equal_nan=True) for key in values)
        required, kept = ([x.name for x in each.leaves if x.requires_grad] for each in (scenario, plain))
        assert kept == required


def test_steps_are_kept_for_the_same_bits_only() -> None:
    row = operator_table()["leaky_relu"]

    def steps(number: float, slope: float) -> list[float]:
        return [float(entry.array) for entry in noted_once(row, [np.array(number)], {"negative_slope": slope}).entries]

    for number, slope in ((0.0, 0.5), (-0.0, 0.5), (-2.0, 0.0), (-2.0, -0.0)):
        fresh = noted(row, [np.array(number)], {"negative_slope": slope}).entries
        assert list(map(repr, steps(number, slope))) == [repr(float(entry.array)) for entry in fresh]


def test_whoever_changes_operands_afterwards_changes_no_kept_steps() -> None:
    array = np.array([1.0, 2.0])
    before = noted_once(operator_table()["softmax"], [array], {"axis": 0})
    array[:] = 0.0
    assert before.inputs[0].array.tolist() == [1.0, 2.0]
    assert noted_once(operator_table()["softmax"], [np.array([1.0, 2.0])], {"axis": 0}) is before
