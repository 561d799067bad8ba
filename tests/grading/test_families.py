"""Every family of checks fails an engine that is broken in what the family is about: none of them may always pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from refgrad.errors import UserError
from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import FamilyCheck
from refgrad.grading.checks.families import all_checks, check_named
from refgrad.grading.checks.graphs import GRAPHS
from refgrad.grading.settings import EFFORTS, Settings
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine
from refgrad.operators import operator_table
from tests.effort import sampled
from tests.faulty_engines.remembering import remembered_scenarios
from tests.grading.broken import bench, engine, verdict
from tests.grading.sparing import TrustingBench, one_fault_a_search

pytestmark = pytest.mark.turns(2)

FEW = frozenset({"add", "multiply", "sin", "exp", "negative", "square", "sum"})
"""Operators that are enough for random graphs, and soon tried by themselves."""

SETUP = """
def numbers(x):
    return x.detach().numpy()

def cornered(x):  # the slope at the corner is 1.5
    return torch.relu6(x) + torch.tensor((1.5 * (numbers(x) == 0)).astype(numbers(x).dtype)) * (x - x.detach())

def of_first_order(x):
    at = x.detach()
    return torch.sin(at) + (x - at) * torch.cos(at)

def of_second_order(x):
    at = x.detach()
    return of_first_order(x) - 0.5 * (x - at) * (x - at) * torch.sin(at)

def changing(x):  # the second walk sends twice as much
    y, walks = torch.tanh(x), []
    if y.requires_grad:
        y.register_hook(lambda gradient: walks.append(1) or gradient * len(walks))
    return y

def in_half(x):  # the slope is wrong in float16 alone
    y = torch.sin(x)
    return y if numbers(x).dtype != np.float16 else y + 0.5 * (x - x.detach())

def doubled(function, primals, tangents):
    output, tangent = jvp(function, primals, tangents)
    return output, tangent * 2

def moved(function, primals, tangents):  # zeros are taken for ones
    return jvp(function, primals, [x if np.any(numbers(x)) else torch.ones_like(x) for x in tangents])

def behind_others(x, dtype):  # wrong where its operand was computed, in some dtype
    y = torch.sin(x)
    return y if x.is_leaf or numbers(x).dtype.name != dtype else y + 0.5 * (x - x.detach())

def behind_others_twice(x):
    return torch.sin(x) if x.is_leaf else of_first_order(x)

def cut(x):  # a tail of the slope is lost
    y = torch.positive(x)
    if y.requires_grad:
        y.register_hook(lambda gradient: gradient * torch.tensor((numbers(x) < 37).astype(numbers(x).dtype)))
    return torch.log_sigmoid(y)

def partly(x, y):  # the slope is wrong where an operand is far below zero
    return y + 0.25 * torch.tensor((numbers(x) < -2.0).astype(numbers(x).dtype)) * (x - x.detach())

def silent(x, function):
    return x.register_hook(lambda gradient: None)
"""


@dataclass(frozen=True, slots=True)
class Broken:
    """A check, and what is to be broken so that it fails."""

    check: str
    operators: dict[str, str] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """Which kind of check it is; each kind of random graph is one."""
        chapter = self.check.partition("/")[0]
        return self.check if chapter == "graphs" else chapter

    def bench(self) -> Bench:
        """Return a bench for the broken engine, with operators that are enough."""
        doubted = {*self.operators, self.check.partition("/")[2]}
        broken = engine(SETUP, only=ENOUGH, operators=self.operators, **self.changes)
        return TrustingBench(broken, Settings("smoke"), doubted=frozenset(doubted))


def after(dtype: str) -> dict[str, str]:
    return {"sin": f"behind_others({{x}}, '{dtype}')"}


BROKEN = (
    Broken("operators/sin", {"sin": "torch.sin({x}) * 1.5"}),
    Broken("edges/relu6", {"relu6": "cornered({x})"}),
    Broken("second_order/sin", {"sin": "of_first_order({x})"}),
    Broken("third_order/sin", {"sin": "of_second_order({x})"}),
    Broken("contracts/tanh", {"tanh": "changing({x})"}),
    Broken("half_precision/sin", operators={"sin": "in_half({x})"}),
    Broken("forward_mode/sin", changes={"jvp": "doubled({function}, {primals}, {tangents})"}),
    Broken("exceptional/sin", {"sin": "torch.sin({x}) + 0 * {x}.sum().detach()"}),
    Broken("infinities/tanh", {"tanh": "torch.tanh({x}) + ({x} - {x}).detach()"}),
    Broken("tails/log_sigmoid", {"log_sigmoid": "cut({x})"}),
    Broken("graphs/small", after("float64")),
    Broken("graphs/neighbours", after("float64")),
    Broken("graphs/one_backward", after("float64")),
    Broken("graphs/several_backwards", after("float64")),
    Broken("graphs/double_backward", {"sin": "behind_others_twice({x})"}),
    Broken("graphs/forward_mode", changes={"jvp": "moved({function}, {primals}, {tangents})"}),
    Broken("graphs/float32", after("float32")),
    Broken("graphs/float16", after("float16")),
    Broken("graphs/mixed_precision", after("float32")),
    Broken("graphs/mixed_float16", after("float16")),
    Broken("lifecycles/random", changes={"backward": "{output}.backward({seed}, retain_graph=True)"}),
    Broken("lifecycles/functions", changes={"ways": {"rule": "{function}(*{inputs})"}}),
    Broken("accumulation/zeroing_forgets", changes={"zero_grad": "None"}),
    Broken("claims/hooks", changes={"hook": "silent({x}, {function})"}),
)

HELD_BACK = {"second_order", "third_order", "contracts", "forward_mode", "exceptional"}
"""Families of one operator that its own failures held back."""

ENOUGH = FEW.union(*(broken.operators for broken in BROKEN))

each = pytest.mark.parametrize("broken", sampled(BROKEN, 4, turns=3), ids=[broken.check for broken in BROKEN])


@pytest.fixture(scope="module")
def sound() -> Iterator[Bench]:
    """Return the bench of the engine as it is; scenarios are made once for all engines."""
    with remembered_scenarios(), one_fault_a_search():
        yield bench(SETUP, only=ENOUGH)


@each
@pytest.mark.usefixtures("sound")
def test_a_family_fails_an_engine_that_is_broken_in_what_it_is_about(broken: Broken) -> None:
    assert verdict(broken.bench(), broken.check).failed


@each
def test_a_family_passes_the_engine_as_it_is(broken: Broken, sound: Bench) -> None:
    assert verdict(sound, broken.check).verdict in {"passed", "convention"}


BESIDE_ANOTHER = [each for each in BROKEN if each.family in HELD_BACK]


@pytest.mark.parametrize("broken", sampled(BESIDE_ANOTHER, 4, turns=3), ids=[broken.check for broken in BESIDE_ANOTHER])
@pytest.mark.usefixtures("sound")
def test_a_known_failure_of_an_operator_hides_no_other(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EFFORTS["smoke"], "past_failures", EFFORTS["standard"]["past_failures"])
    name = broken.check.partition("/")[2]
    right = f"torch.{name}({{x}})"
    both = replace(broken, operators={name: f"partly({{x}}, {broken.operators.get(name, right)})"}).bench()
    assert verdict(both, broken.check).failed
    assert verdict(both, f"operators/{name}").failed
    alone = verdict(Broken(broken.check, {name: f"partly({{x}}, {right})"}).bench(), broken.check)
    assert (alone.failed, alone.cause) == (False, f"operators/{name}")


def test_smoke_stops_at_a_known_failure_of_an_operator() -> None:
    name = "tanh"
    broken = Broken(f"contracts/{name}", {name: f"partly({{x}}, torch.{name}({{x}}))"}).bench()
    blocked = verdict(broken, f"contracts/{name}")
    assert (blocked.verdict, blocked.cause) == ("inconclusive", f"operators/{name}")


OF_BFLOAT16 = """
def behind_others(x, y):
    z = torch.multiply(x, y)
    return z if x.is_leaf or x.dtype != torch.bfloat16 else z + 0.5 * (x - x.detach())
"""


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")
def test_graphs_of_bfloat16_fail_an_engine_that_is_broken_in_that_dtype() -> None:
    pytest.importorskip("torch", reason="needs the extra refgrad[torch]")
    adapter = find_adapter("torch")
    setup = f"{adapter.setup}\n{OF_BFLOAT16}"
    few = {name: text for name, text in adapter.operators.items() if name in FEW}
    others = frozenset(operator_table()) - FEW
    for spelled, outcome in (({}, False), ({"multiply": "behind_others({x}, {y})"}, True)):
        engine = Engine(replace(adapter, setup=setup, operators=few | spelled, aliases={}, unlike=others))
        assert verdict(Bench(engine, Settings("smoke")), "graphs/bfloat16").failed is outcome


def test_every_family_is_tried() -> None:
    chapters = {check.chapter for check in all_checks() if check.operator_name}
    graphs = {family.name for family in GRAPHS if family.name.startswith("graphs")}
    graphs -= {"graphs/bfloat16", "graphs/mixed_bfloat16"}
    expected = {*chapters, *graphs, "lifecycles", "claims"} - {"mixed_modes"}  # which a tape lacks: test_mixed_modes.py
    assert expected <= {broken.family for broken in BROKEN}


def test_a_check_has_an_id_and_an_unknown_one_is_an_error_with_suggestions() -> None:
    assert check_named("operators/exp").id == "operators/exp"
    with pytest.raises(UserError, match="there is no check 'exp'; about the operator there are: operators/exp, "):
        check_named("exp")
    with pytest.raises(UserError, match=r"there is no check 'operators/expp'.*operators/exp"):
        check_named("operators/expp")


def test_families_draw_scenarios_except_those_of_exceptional_numbers() -> None:
    families = [check for check in all_checks() if isinstance(check, FamilyCheck)]
    drawing = {check.chapter for check in families} - {"exceptional", "infinities", "tails"}
    assert {(check.chapter in drawing, check.draws) for check in families} == {(True, True), (False, False)}
    assert not any(check.draws for check in all_checks() if not isinstance(check, FamilyCheck))
