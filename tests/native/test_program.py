"""Tests of the programs of scenarios, and of what an output depends on."""

from itertools import chain

import pytest
from syrupy.assertion import SnapshotAssertion

from refgrad.native.adapter import find_adapter
from refgrad.native.display import displayed
from refgrad.native.program import program_of, relevant_leaves
from refgrad.native.statements import Call, Name
from refgrad.scenario import parse
from tests.snapshots.placement import PlainText

USED = """
used = leaf float64[] {0x1p+0} requires_grad
constant = leaf float64[] {0x1p+0}
unused = leaf float64[] {0x1p+0} requires_grad
a = multiply used constant
b = exp a
other = exp unused
"""
TWICE = f"""
{USED}
x = leaf float32[2] {{0x1p+0 0x1p+1}} requires_grad
t = multiply x used
delete a
g = grad b used seed float64[] {{0x1p-1}}
c = multiply g used
d = sin c
delete c
p = multiply d d
backward p retain_graph
backward t seed float64[2] {{0x1p+0 0x1p+0}} retain_graph
backward p seed float64[] {{0x1p+1}}
read grad constant
read grad used
j = jvp t x float32[2] {{0x1p+0 0x0p+0}} used float64[] {{0x1p+0}}
read value j
zero grad used
backward t seed float64[2] {{0x1p+0 0x1p+0}}
read grad used
"""


@pytest.mark.parametrize(
    "engine", ["autograd", "chainer", "commons-math", "cppad", "jax", "mlx", "pytensor", "r-deriv", "tfjs", "torch"]
)
def test_a_program_has_the_statements_of_each_step(engine: str, snapshot: SnapshotAssertion) -> None:
    adapter = find_adapter(engine)
    scenario = parse(TWICE if "forward_mode" in adapter.features else TWICE.partition("j = jvp")[0])
    spellings = {"multiply": "{x} * {y}", "exp": "exp({x})", "sin": "sin({x})"}
    groups = program_of(scenario, adapter, lambda step, _: spellings[step.operator], watch_seeds=True).groups
    shown = displayed(scenario, adapter, lambda step, _: spellings[step.operator])
    programs = (adapter.syntax.lines(each) for each in (*chain(*groups), Call("as a finding shows it"), *shown))
    assert "\n".join(chain(*programs)) == snapshot.use_extension(PlainText)


@pytest.mark.parametrize(
    ("outer", "inner", "nested"),
    [
        ("f({x}, {y})", "g({x})", "f((g({x_of_a})), {y})"),
        ("f({x})", "g({{{x}}})", None),
        ("f({x}, {x})", "g({x})", None),
        ("f({x})", "g({x})" + 1000 * " ", None),
        ("f({x})", "g({x})" + 994 * " ", "f((g({x_of_a})" + 994 * " " + "))"),
    ],
)
def test_a_call_is_nested_where_its_result_is_used_once(outer: str, inner: str, nested: str | None) -> None:
    whole = Call(outer, {"x": Name("a"), "y": Name("b")}).around("a", Call(inner, {"x": Name("c")}))
    assert (whole and whole.template) == nested
    assert Call("f({x}, {y})", {"x": Name("a"), "y": Name("a")}).around("a", Call("g")) is None


@pytest.mark.parametrize(("output", "leaves"), [("b", ["used"]), ("unused", ["unused"]), ("constant", [])])
def test_leaves_of_an_output_are_those_that_it_uses_and_that_require_grad(output: str, leaves: list[str]) -> None:
    assert relevant_leaves(parse(USED), output) == leaves
