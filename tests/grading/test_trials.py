"""Tests of trials: a template that is wrong is found where it is wrong, and what it is mended by is said."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from refgrad.grading.trials import TemplateTrial, _of_error, start, trials, without_arrays
from refgrad.native.adapter import TapeAdapter
from refgrad.native.engine import Engine
from refgrad.native.observation import Raised
from refgrad.scenario import Backward
from tests.native.reference import ADAPTER

FEW: Any = {"operators": {"add": "{x} + {y}", "multiply": "{x} * {y}"}, "aliases": {}}


def tried(**changes: Any) -> list[TemplateTrial]:
    """Try the templates of the reference engine's adapter, which has two operators, with some fields changed."""
    return list(trials(Engine(replace(ADAPTER, **{**FEW, **changes}))))


def failing(**changes: Any) -> list[TemplateTrial]:
    return [trial for trial in tried(**changes) if trial.failed]


def test_templates_that_work_are_tried_on_every_kind_of_array() -> None:
    results = tried()
    assert not any(trial.failed for trial in results)
    assert {trial.kind for trial in results} == {"a number", "a vector", "a matrix", "an empty array"}
    assert {name for trial in results for name in trial.fields} >= {"leaf", "backward", "operators.add"}


def test_a_backward_without_a_seed_is_tried_only_from_numbers() -> None:
    backwards = [trial for trial in tried() if "backward" in trial.fields]
    seedless = [
        trial.kind
        for trial in backwards
        if any(isinstance(s, Backward) and s.seed is None for s in trial.scenario.steps)
    ]
    assert set(seedless) == {"a number"}
    assert "a vector" in {trial.kind for trial in backwards}


def test_a_wrong_leaf_is_reported_first_and_operators_are_not_blamed() -> None:
    (trial,) = failing(leaf="torch.tensor(np.atleast_1d({array}), requires_grad={requires_grad})")
    assert (trial.kind, set(trial.fields)) == ("a number", {"leaf", "value"})
    assert "the shape (1,), but it should be ()" in trial.outcome_text
    assert "`leaf`" in trial.remedy


def test_a_gradient_that_is_not_read_is_reported_for_the_gradient_template() -> None:
    results = failing(gradient="None")
    assert {"gradient", "backward"} <= set(results[0].fields)
    assert "correct `backward`, `gradient`" in results[0].remedy
    assert all(not set(trial.fields) <= {"operators.add", "operators.multiply"} for trial in results)


def test_a_gradient_of_the_other_sign_is_reported_for_the_templates_of_gradients() -> None:
    results = failing(gradient="{leaf}.grad if {leaf}.grad is None else -{leaf}.grad.numpy()")
    assert "correct `backward`, `gradient`" in results[0].remedy


def test_that_no_gradient_of_an_array_can_be_tried_is_noted() -> None:
    fields: Any = {"backward": "{output}.backward()", "alike": (), "aliases": {}}
    known = replace(ADAPTER, operators={"add": "{x} + {y}"}, **fields)
    assert "has no `sum`" in without_arrays(Engine(known))
    summing = replace(known, operators={**known.operators, "sum": "{x}.sum()"})
    assert without_arrays(Engine(summing)) == without_arrays(Engine(ADAPTER)) == ""


def test_only_the_operator_is_reported_if_another_one_has_a_right_gradient() -> None:
    results = failing(operators={"multiply": "{x} * {y}.detach()", "log": "torch.log({x})"})
    assert {frozenset(trial.fields) for trial in results} == {frozenset({"operators.multiply"})}


def test_a_seed_that_is_not_taken_shows_on_a_number() -> None:
    results = failing(backward="({output}.backward(torch.ones_like({output})), {seed})")
    assert "a number" in {trial.kind for trial in results}


def test_a_gradient_that_is_not_reset_is_reported_for_its_template() -> None:
    assert all("zero_grad" in trial.fields for trial in failing(zero_grad="None"))


@pytest.mark.parametrize(
    ("spelling", "advice"),
    [
        ("{x} + {y}", "compare the row of `refgrad list operators`"),
        ("multiplied({x}, {y})", "a name that `setup` does not make"),
        ("{x}.multiplied({y})", "the library has nothing of that name"),
        ("torch.multiply({x}, {y}, wanted=True)", "the function takes other arguments"),
    ],
)
def test_a_wrong_spelling_is_reported_with_advice(spelling: str, advice: str) -> None:
    results = [
        trial
        for trial in failing(aliases={"multiply": (spelling,)})
        if trial.fields == {"operators.multiply": spelling}
    ]
    assert results
    assert all(advice in trial.remedy for trial in results)
    assert {next(iter(trial.fields.values())) for trial in failing(aliases={"multiply": (spelling,)})} == {spelling}


def test_an_error_that_the_adapter_declares_as_unsupported_needs_no_correction() -> None:
    spelling = "[][{x}.ndim + 9]"
    assert failing(aliases={"multiply": (spelling,)})
    assert not failing(aliases={"multiply": (spelling,)}, refusals=("IndexError: list index out of range",))


def test_the_advice_for_an_error_contains_a_pattern_that_matches_it() -> None:
    trial = failing(aliases={"multiply": ("[][{x}.ndim + 9]",)})[0]
    assert trial.remedy.endswith("`refusals = ['IndexError: list index out of range']`")


def test_a_pattern_with_a_quotation_mark_is_one_of_toml_too() -> None:
    spelling = "getattr({x}, 'nothing', None)[0]"
    trial = failing(aliases={"multiply": (spelling,)})[0]
    (pattern,) = tomllib.loads(trial.remedy.rpartition(", `")[2].rstrip("`"))["refusals"]
    assert "'NoneType'" in pattern
    assert not failing(aliases={"multiply": (spelling,)}, refusals=(pattern,))


def test_an_engine_of_scalars_is_tried_only_on_numbers() -> None:
    assert {trial.kind for trial in tried(scalars_only=True)} == {"a number"}


def test_a_program_shows_what_was_run() -> None:
    trial = failing(leaf="torch.tensor(np.atleast_1d({array}), requires_grad={requires_grad})")[0]
    assert "np.atleast_1d" in trial.program


def test_some_operators_of_the_reference_engine_have_nothing_to_mend() -> None:
    """Every eighth of them: all take many seconds."""
    some = dict(islice(ADAPTER.operators.items(), 0, None, 8))
    results = tried(operators=some)
    assert [trial.outcome_text for trial in results if trial.failed] == []
    assert {f"operators.{name}" for name in some} <= {name for trial in results for name in trial.fields}


@pytest.mark.slow
def test_the_reference_engine_has_nothing_to_mend() -> None:
    results = [*trials(start("refgrad", "python"))]
    assert [trial.outcome_text for trial in results if trial.failed] == []
    assert isinstance(results[0].engine.adapter, TapeAdapter)


REFUSED = "\n\ndef refuse(x):\n    raise NotImplementedError(f'no {x.shape}')\n"
EMPTY_ONLY = "\n\ndef alone(x):\n    if x.shape: raise NotImplementedError\n    return x\n"


def test_a_leaf_that_is_refused_for_every_kind_is_no_adapter() -> None:
    results = failing(setup=ADAPTER.setup + REFUSED, leaf="refuse({array})")
    assert [trial.kind for trial in results] == ["a number", "a vector", "a matrix", "an empty array"]
    assert all(trial.fields.keys() == {"leaf", "value"} and trial.necessary for trial in results)
    assert results[0].outcome_text.endswith("raised NotImplementedError: no ()")
    assert "`leaf` and `value` must work for one of them" in results[0].remedy


def test_a_leaf_that_is_refused_for_some_kinds_is_one() -> None:
    leaf = "torch.tensor(alone({array}), requires_grad={requires_grad})"
    results = tried(setup=ADAPTER.setup + EMPTY_ONLY, leaf=leaf)
    assert not any(trial.failed for trial in results)
    assert {trial.kind for trial in results if trial.finding.outcome == "passed"} == {"a number"}


def test_the_pattern_for_an_error_is_the_beginning_of_its_first_line() -> None:
    error = Raised("OddError", f"{'x' * 70}\nmore", ("OddError",))
    assert f"'OddError: {'x' * 60}'" in _of_error(error)
