"""Is an engine caught whose gradients are right, but not its directional derivatives, and blamed for just that?"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Mapping
from dataclasses import replace

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.checks.graphs import GRAPHS
from refgrad.grading.checks.operators.derivatives import FORWARD_MODE
from refgrad.grading.checks.operators.values import OPERATORS as VALUES
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.adapter import AdapterError, TapeAdapter, find_adapter
from refgrad.native.engine import Engine, observe, reproduce, start
from refgrad.operators import operator_table
from refgrad.scenario import parse
from tests.native.reference import ADAPTER
from tests.native.tiny_engine import tiny_adapter

pytestmark = pytest.mark.turns(2)

OPERATORS = ("multiply", "exp", "matmul", "sum", "where")

PUSHED = """
x = leaf float64[2] {0x1.8p+0 -0x1p-1} requires_grad
z = leaf float64[] {0x1p-1} requires_grad
c = leaf float64[2] {0x1p+0 0x1p+1}
m = multiply x z
y = add m c
t = jvp y x float64[2] {0x1p+0 -0x1.8p+1} z float64[] {0x1p+1}
s = jvp m z float64[] {0x1p+0}
backward y seed float64[2] {0x1p+0 0x1p+1}
read value t
read value s
read grad x
"""

INDEPENDENT = """
x = leaf float64[2] {0x1.8p+0 -0x1p-1} requires_grad
z = leaf float64[] {0x1p-1} requires_grad
c = leaf float64[2] {0x1p+0 0x1p+1}
a = exp z
b = exp c
f = floor x
t = jvp a x float64[2] {0x1p+0 0x1p+0}
u = jvp b x float64[2] {0x1p+0 0x1p+0}
v = jvp f x float64[2] {0x1p+0 0x1p+0}
w = jvp x x float64[2] {0x1p+0 0x1p+0}
read value t
read value u
read value v
read value w
"""


def engine(name: str, **changes: str | None) -> Engine:
    return Engine(replace(ADAPTER, name=name, **changes))  # type: ignore[arg-type]


def forward_verdicts(engine: Engine, profile: str = "smoke") -> Mapping[str, Verdict]:
    bench = Bench(engine, Settings(profile))
    return {name: bench.grade(FORWARD_MODE.check(name)) for name in OPERATORS}


def test_every_differentiable_operator_has_a_check() -> None:
    checked = {check.operator_name for check in all_checks() if check.chapter == "forward_mode"}
    assert checked == {name for name, operator in operator_table().items() if operator.differentiable_arguments}


def test_the_reference_engine_passes() -> None:
    assert {v.verdict for v in forward_verdicts(start(ADAPTER), "standard").values()} == {"passed"}


def test_an_engine_whose_tangents_are_too_large_is_caught_and_its_gradients_pass() -> None:
    assert ADAPTER.setup.count(", weights, [v for") == 1
    wrong = engine("too large", setup=ADAPTER.setup.replace("[v for", "[v * 1.25 for"))
    found = forward_verdicts(wrong)
    assert {v.verdict for v in found.values()} == {"wrong"}
    shown = parse(found["exp"].scenario)
    assert shown.jvps
    assert len(shown.steps) == 4
    assert Bench(wrong, Settings("smoke")).grade(VALUES.check("exp")).verdict == "passed"


ZEROS_AS_ONES = """
def moved(function, primals, tangents):
    return jvp(function, primals, [x if np.any(x.detach().numpy()) else torch.ones_like(x) for x in tangents])
"""


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"setup": ADAPTER.setup + ZEROS_AS_ONES, "jvp": "moved({function}, {primals}, {tangents})"}, True),
        ({"setup": ADAPTER.setup.replace("[v for", "[v + 1.0 for")}, False),
    ],
    ids=["of the graph", "of its operators"],
)
def test_a_graph_is_to_blame_where_its_operators_are_right_in_forward_mode(
    changes: Mapping[str, str], *, reported: bool
) -> None:
    wrong, family = engine("wrong", **changes), next(each for each in GRAPHS if each.name == "graphs/forward_mode")
    scenario = parse(
        "x = leaf float64[] {1} requires_grad\ny = exp x\nz = multiply y y\nt = jvp z x float64[] {0}\nread value t"
    )
    finding = examine(scenario, wrong)
    assert finding.outcome == "wrong"
    assert family.check().reports(scenario, finding, Bench(wrong, Settings("smoke"))) is reported


def test_an_engine_without_forward_mode_is_not_asked_for_it() -> None:
    found = forward_verdicts(engine("backward only", jvp=None))
    assert {v.verdict for v in found.values()} == {"unsupported"}
    assert found["exp"].message == "the engine has no forward_mode"


def test_an_operator_without_a_forward_rule_is_unsupported() -> None:
    refusing = "def jvp(function, primals, tangents):\n    raise NotImplementedError('no forward rule of any')\n"
    found = forward_verdicts(engine("no rules", setup=f"import refgrad.engine as torch\n{refusing}"))
    assert {v.verdict for v in found.values()} == {"unsupported"}
    assert "no forward rule of any" in found["exp"].message


def test_an_operator_that_is_wrong_by_itself_is_not_judged() -> None:
    wrong = {**ADAPTER.operators, "where": "torch.where({condition}, {x}, {y}) * 2"}
    found = forward_verdicts(Engine(replace(ADAPTER, name="wrong where", operators=wrong)))
    assert found["where"].verdict == "inconclusive"
    assert found["where"].message == "operators/where fails already"
    assert found["multiply"].verdict == "passed"


def test_forward_mode_is_offered_by_those_that_spell_it() -> None:
    assert "forward_mode" in ADAPTER.features
    assert "forward_mode" not in replace(ADAPTER, jvp=None).features
    assert "forward_mode" not in tiny_adapter().features
    assert "forward_mode" in tiny_adapter(jvp="({function}, {primals}, {tangents})").features
    with pytest.raises(AdapterError, match="jvp: unknown placeholder"):
        tiny_adapter(jvp="{output}")


@pytest.mark.engines
@pytest.mark.parametrize("name", ["refgrad", "torch", "autograd"])
@pytest.mark.parametrize("text", [PUSHED, INDEPENDENT], ids=["dependent", "independent"])
def test_reproductions_print_the_tangents_that_were_observed(name: str, text: str) -> None:
    if name != "refgrad":
        pytest.importorskip(name, reason=f"needs refgrad[{name}]")
    engine, scenario = start(find_adapter(name)), parse(text)
    assert examine(scenario, engine).outcome == "passed"
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings(action="ignore"):  # of an output that stands still
        exec(reproduce(scenario, engine), {})
    arrays = [o.array for o in observe(scenario, engine) if o.array is not None]
    if isinstance(engine.adapter, TapeAdapter):
        assert out.getvalue() == "".join(f"{array}\n" for array in arrays)
    else:
        assert {*out.getvalue().splitlines()} >= {str(array) for array in arrays[:2]}
