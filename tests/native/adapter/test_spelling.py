"""Every spelling of an operator is met, and a wrong one is found, shrunk and shown as it was run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import refgrad.engine as reference_engine
from refgrad.generation import forward_scenario, operator_scenario
from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.checks.isolation import without_seeds
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.adapter import AdapterError, TapeAdapter
from refgrad.native.adapter.spelling import chosen
from refgrad.native.engine import Engine, reproduce
from refgrad.native.statements import Call
from refgrad.operators import operator_table
from refgrad.scenario import Scenario, parse
from refgrad.scenario.rewrite import without_tangents
from tests.native.reference import ADAPTER
from tests.native.tiny_engine import tiny_adapter

SPELLINGS = ("first", "second", "third")


def reference(**aliases: tuple[str, ...]) -> TapeAdapter:
    """The reference engine, with no other aliases than these."""
    return replace(ADAPTER, name="aliased", aliases=aliases)


def spelled(scenario: Scenario) -> list[str]:
    """How the applications of a scenario are spelled."""
    return [chosen(SPELLINGS, step, scenario) for step in scenario.applications]


def verdict(adapter: TapeAdapter, check: str) -> Verdict:
    """The verdict of one check."""
    (found,) = [c for c in all_checks() if c.id == check]
    return Bench(Engine(adapter), Settings("standard")).grade(found)


@pytest.mark.parametrize("operator", ["exp", "multiply", "sum", "concatenate"])
def test_each_spelling_is_met_about_as_often_as_the_others(operator: str) -> None:
    met = Counter(spelled(operator_scenario(seed, operator))[0] for seed in range(600))
    assert met.keys() == set(SPELLINGS)
    assert min(met.values()) > 130


@pytest.mark.parametrize("behind", ["backward a\nbackward a\n", "write a add a\n", "backward a\nh = grad a x\n"])
def test_where_it_matters_what_is_saved_the_first_spelling_is_used(behind: str) -> None:
    for number in range(20):
        text = f"x = leaf float64[] {{{float(number).hex()}}} requires_grad\na = exp x\n"
        assert spelled(parse(text + behind)) == ["first"]


@given(st.integers(0, 10**6))
def test_a_scenario_that_is_read_back_is_spelled_the_same(seed: int) -> None:
    scenario = operator_scenario(seed, "multiply")
    assert spelled(parse(scenario.text)) == spelled(scenario)


@given(st.integers(0, 10**6))
def test_what_becomes_of_a_result_does_not_change_how_it_is_spelled(seed: int) -> None:
    scenario = operator_scenario(seed, "exp")
    assert spelled(without_seeds(scenario))[0] == spelled(scenario)[0]
    pushed = forward_scenario(seed, "exp")
    assert spelled(without_tangents(pushed)) == spelled(pushed)


def test_a_wrong_alias_is_found_shrunk_and_shown_as_it_was_run() -> None:
    adapter = reference(tanh=("torch.tanh({x}) * 1.5", "{x}.tanh()"))
    found = verdict(adapter, "operators/tanh")
    assert found.verdict == "wrong"
    assert "torch.tanh({x}) * 1.5" in {each.template for each in found.reproduction if isinstance(each, Call)}
    scenario = parse(found.scenario)
    assert scenario.leaves[0].value.size == 1
    assert examine(scenario, Engine(adapter)).failed


def test_right_aliases_pass() -> None:
    assert verdict(reference(tanh=("{x}.tanh()",)), "operators/tanh").verdict == "passed"


@given(st.integers(0, 10**6))
def test_a_reproduction_shows_the_spelling_that_is_run(seed: int) -> None:
    engine = Engine(reference(exp=("torch.exp({x}) + 0 * {x}",)))
    scenario = operator_scenario(seed, "exp")
    (step, *_) = scenario.applications
    operand = step.arguments[0]
    assert f"{step.name} = {engine.spelling(step, scenario).format(x=operand)}\n" in reproduce(scenario, engine)


def test_aliases_stand_behind_the_main_spelling_if_there_is_one() -> None:
    engine = Engine(tiny_adapter(aliases={"square": ("{x} * {x}",), "add": ("{y} + {x}", "{x} + {y}")}))
    assert engine.spellings["square"] == ("{x} * {x}",)
    assert engine.spellings["add"] == ("{x} + {y}", "{y} + {x}")


def test_further_names_in_the_reference_engine_are_the_same_functions_or_spelled() -> None:
    for row in operator_table().values():
        functions = {id(getattr(reference_engine, name)) for name in (row.name, *row.aliases)}
        spelled = [text for text in ADAPTER.aliases.get(row.name, ()) if text.startswith("torch.")]
        assert len(functions) == 1 + len(spelled)


def test_what_a_library_calls_alike_under_several_names_is_spelled_by_each_that_is_a_function_of_its_own() -> None:
    setup = """
from types import SimpleNamespace
from tests.native.tiny_tape import Tiny
sine, other = (lambda x: x), (lambda x: x)
lib = SimpleNamespace(abs=sine, absolute=other, arcsin=sine, asin=sine)
"""
    engine = Engine(tiny_adapter(setup=setup, alike=("lib",)))
    assert engine.spellings["abs"] == ("lib.abs({x})", "lib.absolute({x})")
    assert engine.spellings["arcsin"] == ("lib.arcsin({x})",)


def test_what_a_library_does_not_call_alike_has_its_other_spellings() -> None:
    aliases = {"add": ("{x} + {y}",), "exp": ("{x}.exp()",)}
    without = Engine(tiny_adapter(operators={}, aliases=aliases))
    assert dict(without.spellings) == aliases
    setup = "from types import SimpleNamespace\nlib = SimpleNamespace(add=lambda x, y: x + y)"
    engine = Engine(tiny_adapter(setup=setup, alike=("lib",), operators={}, aliases=aliases))
    assert dict(engine.spellings) == {"add": ("lib.add({x}, {y})", "{x} + {y}"), "exp": ("{x}.exp()",)}


@pytest.mark.parametrize(
    ("aliases", "problem"),
    [
        ({"ad": ("{x}",)}, r"aliases\['ad'\]: there is no such operator"),
        ({"add": "{x} + {y}"}, r"aliases\['add'\]: '{x} \+ {y}' is not a tuple of texts"),
        ({"add": ("{x} + {z}",)}, r"aliases\['add'\]: unknown placeholder {z}"),
    ],
)
def test_a_malformed_alias_is_refused(aliases: object, problem: str) -> None:
    with pytest.raises(AdapterError, match=problem):
        tiny_adapter(aliases=aliases)
