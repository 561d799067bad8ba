"""Are engines judged in the dtype in which they compute, and is what is printed what was run?"""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from refgrad.generation import Profile
from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import FamilyCheck
from refgrad.grading.checks.families import check_named
from refgrad.grading.judging.examination import examine
from refgrad.grading.settings import Settings
from refgrad.native.adapter import AdapterError, TapeAdapter, find_adapter
from refgrad.native.engine import Engine, observe, reproduce, start
from refgrad.scenario import parse
from tests.effort import sampled
from tests.grading.broken import bench, verdict

REFERENCE = find_adapter("refgrad")
HALVES = ("float16", "bfloat16")


def square(dtype: str) -> str:
    """Return a scenario about a leaf of a dtype."""
    return f"""
        x = leaf {dtype}[2] {{1.5 -0.25}} requires_grad
        a = square x
        backward a seed {dtype}[2] {{1 3}}
        read grad x
        read value a
    """


def widening() -> TapeAdapter:
    """Return the reference engine, whose gradients of float32 come back in float64."""
    assert isinstance(REFERENCE, TapeAdapter)
    return replace(REFERENCE, gradient=f"np.asarray({REFERENCE.gradient}, dtype=np.float64)")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_the_reference_engine_keeps_dtypes(dtype: str) -> None:
    observed = observe(parse(square(dtype)), start(REFERENCE))
    assert [seen.dtype for seen in observed if seen.array is not None] == [dtype, dtype]


@pytest.mark.parametrize(
    ("spelling", "owned"),
    [("{x} * {x} * (1.01 if {x}.dtype == torch.float32 else 1)", True), ("{x} * {x} * 1.01", False)],
)
def test_a_graph_s_failure_is_the_dtype_s_if_it_is_none_in_float64(spelling: str, *, owned: bool) -> None:
    engine = Engine(replace(REFERENCE, operators={**REFERENCE.operators, "square": spelling}))
    scenario = parse(square("float32"))
    finding = examine(scenario, engine)
    assert finding.failed
    check = check_named("graphs/float32")
    assert isinstance(check, FamilyCheck)
    assert check.reports(scenario, finding, Bench(engine, Settings("smoke"))) is owned


def test_a_gradient_in_another_dtype_than_its_leaf_is_wrong() -> None:
    finding = examine(parse(square("float32")), start(widening()))
    assert finding.outcome == "wrong"
    assert finding.message == "the gradient of x has the dtype float64, but it should be float32"


def test_a_dtype_that_an_engine_does_not_offer_is_not_asked_of_it() -> None:
    engine = start(replace(widening(), dtypes=("float64",)))
    assert examine(parse(square("float32")), engine).outcome == "passed"
    assert Bench(engine).reliance.lacking(parse(square("float32"))) == ["dtype float32"]


def test_of_mixed_dtypes_each_gradient_has_that_of_its_leaf_and_a_value_may_have_either() -> None:
    text = """
        x = leaf float32[2] {1.5 -0.25} requires_grad
        y = leaf float64[] {0.1} requires_grad
        a = multiply x y
        backward a seed float64[2] {1 3}
        read grad x
        read grad y
        read value a
    """
    assert examine(parse(text), start(REFERENCE)).outcome == "passed"
    observed = [seen.dtype for seen in observe(parse(text), start(REFERENCE)) if seen.array is not None]
    assert observed == ["float32", "float64", "float64"]


def test_a_dtype_is_a_word_of_code_in_templates() -> None:
    adapter = replace(widening(), leaf="torch.tensor({array}.astype(np.{dtype}), requires_grad={requires_grad})")
    printed = reproduce(parse(square("float32")), start(adapter))
    assert "torch.tensor(np.array([1.5, -0.25], dtype=np.float32).astype(np.float32), requires_grad=True)" in printed


def test_a_dtype_that_there_is_not_is_refused() -> None:
    with pytest.raises(AdapterError, match="float8"):
        replace(REFERENCE, dtypes=("float64", "float8"))
    with pytest.raises(AdapterError, match="which is dtype"):
        replace(REFERENCE, dtypes=("float32",))


@pytest.mark.parametrize("dtype", ["float32", *HALVES])
@pytest.mark.engines
def test_the_printed_program_shows_what_was_observed_and_its_dtype(dtype: str) -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]")
    engine = start(find_adapter("torch"))
    scenario = parse(square(dtype))
    assert examine(scenario, engine).outcome == "passed"
    assert [seen.dtype for seen in observe(scenario, engine) if seen.array is not None] == [dtype, dtype]
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        exec(reproduce(scenario, engine), {})
    assert written.getvalue() == f"[ 3.  -1.5] torch.{dtype}\n[2.25   0.0625] torch.{dtype}\n"


def checked(engine: Engine, kind: str) -> str:
    """Return the verdict on a kind of graphs."""
    return Bench(engine, Settings("smoke")).grade(check_named(f"graphs/{kind}")).verdict


def few_operators(adapter: TapeAdapter) -> TapeAdapter:
    """Return an adapter with some operators only, so that grading takes a moment."""
    kept = {"add", "multiply", "exp", "sum", "matmul"}
    return replace(adapter, operators={name: text for name, text in adapter.operators.items() if name in kept})


@pytest.mark.parametrize("kind", sampled(["float32", "float16", "mixed_precision"], 3))
def test_the_reference_engine_passes_graphs_of_every_dtype_that_it_offers(kind: str) -> None:
    assert isinstance(REFERENCE, TapeAdapter)
    assert checked(start(few_operators(REFERENCE)), kind) == "passed"


def test_graphs_of_a_dtype_that_an_engine_lacks_are_unsupported() -> None:
    assert isinstance(REFERENCE, TapeAdapter)
    assert checked(start(few_operators(REFERENCE)), "bfloat16") == "unsupported"
    assert checked(start(few_operators(replace(REFERENCE, dtypes=("float64",)))), "mixed_precision") == "unsupported"


def test_gradients_of_the_wrong_dtype_are_reported_once() -> None:
    assert checked(start(few_operators(widening())), "float32") == "inconclusive"


def test_an_operator_is_tried_in_float32_too() -> None:
    assert isinstance(REFERENCE, TapeAdapter)
    rough = "exp_rough({x})"
    rule = "    y = torch.exp(x)\n    return y * (1 + 1e-3) if x.dtype == np.float32 else y"
    setup = f"{REFERENCE.setup}\nimport numpy as np\n\ndef exp_rough(x):\n{rule}\n"
    adapter = replace(few_operators(REFERENCE), setup=setup)
    adapter = replace(adapter, operators={**adapter.operators, "exp": rough})
    verdict = Bench(start(adapter), Settings("smoke")).grade(check_named("operators/exp"))
    assert verdict.verdict in {"wrong", "inaccurate"}
    assert "leaf float32" in verdict.scenario
    assert np.float32.__name__ in str(verdict.reproduction)


def test_random_graphs_of_a_dtype_have_the_operators_that_do_not_refuse_it(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = """
def refusing(x):
    if x.dtype == torch.float32:
        raise TypeError("no kernel for float32")
    return torch.exp(x)
"""
    offered: list[set[str]] = []

    def noted(bench: Bench, operators: set[str], **fields: Any) -> Profile:
        offered.append(set(operators))
        return bench.profile(operators=frozenset(operators), dtype=fields["dtype"])

    monkeypatch.setattr("refgrad.grading.checks.graphs._profile", noted)
    few = {"add", "multiply", "sin", "exp"}
    verdict(bench(setup, operators={"exp": "refusing({x})"}, only=few), "graphs/float32")
    assert offered == [few - {"exp"}]
