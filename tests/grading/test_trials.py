"""Tests of trials: a template that is wrong is found where it is wrong, and what it is mended by is said."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from refgrad.grading.trials import Trial, start, trials, without_arrays
from refgrad.native.adapter import TapeAdapter
from refgrad.native.engine import Engine
from refgrad.scenario import Backward
from tests.native.reference import ADAPTER

FEW: Any = {"operators": {"add": "{x} + {y}", "multiply": "{x} * {y}"}, "aliases": {}}


def tried(**changes: Any) -> list[Trial]:
    """Try the templates of the reference engine's adapter, which has two operators, with some fields changed."""
    return list(trials(Engine(replace(ADAPTER, **{**FEW, **changes}))))


def failing(**changes: Any) -> list[Trial]:
    return [trial for trial in tried(**changes) if trial.failed]


def test_templates_that_work_are_tried_on_every_kind_of_array() -> None:
    found = tried()
    assert not any(trial.failed for trial in found)
    assert {trial.kind for trial in found} == {"a number", "a vector", "a matrix", "an empty array"}
    assert {name for trial in found for name in trial.fields} >= {"leaf", "backward", "operators.add"}


def test_a_backward_without_a_seed_is_tried_from_numbers_alone() -> None:
    walks = [trial for trial in tried() if "backward" in trial.fields]
    seedless = [
        trial.kind for trial in walks if any(isinstance(s, Backward) and s.seed is None for s in trial.scenario.steps)
    ]
    assert set(seedless) == {"a number"}
    assert "a vector" in {trial.kind for trial in walks}


def test_a_leaf_that_loses_numbers_is_told_first_and_operators_are_not_blamed() -> None:
    (trial,) = failing(leaf="torch.tensor(np.atleast_1d({array}), requires_grad={requires_grad})")
    assert (trial.kind, set(trial.fields)) == ("a number", {"leaf", "value"})
    assert "the shape (1,), but it should be ()" in trial.came_back
    assert "`leaf`" in trial.remedy


def test_a_gradient_that_is_not_read_is_told_of_the_gradient() -> None:
    found = failing(gradient="None")
    assert {"gradient", "backward"} <= set(found[0].fields)
    assert "mend `backward`, `gradient`" in found[0].remedy
    assert all(not set(trial.fields) <= {"operators.add", "operators.multiply"} for trial in found)


def test_a_gradient_of_the_other_sign_is_told_of_what_makes_gradients() -> None:
    found = failing(gradient="{leaf}.grad if {leaf}.grad is None else -{leaf}.grad.numpy()")
    assert "mend `backward`, `gradient`" in found[0].remedy


def test_that_no_gradient_of_an_array_can_be_tried_is_noted() -> None:
    fields: Any = {"backward": "{output}.backward()", "alike": (), "aliases": {}}
    known = replace(ADAPTER, operators={"add": "{x} + {y}"}, **fields)
    assert "no `sum` is spelled" in without_arrays(Engine(known))
    summing = replace(known, operators={**known.operators, "sum": "{x}.sum()"})
    assert without_arrays(Engine(summing)) == without_arrays(Engine(ADAPTER)) == ""


def test_an_operator_with_a_wrong_gradient_is_told_alone_where_another_one_has_a_right_one() -> None:
    found = failing(operators={"multiply": "{x} * {y}.detach()", "log": "torch.log({x})"})
    assert {frozenset(trial.fields) for trial in found} == {frozenset({"operators.multiply"})}


def test_a_seed_that_is_not_taken_shows_on_a_number() -> None:
    found = failing(backward="({output}.backward(torch.ones_like({output})), {seed})")
    assert "a number" in {trial.kind for trial in found}


def test_a_gradient_that_is_not_reset_is_told_of_its_template() -> None:
    assert all("zero_grad" in trial.fields for trial in failing(zero_grad="None"))


@pytest.mark.parametrize(
    ("spelling", "advice"),
    [
        ("{x} + {y}", "compare the row of `refgrad list operators`"),
        ("multiplied({x}, {y})", "a name that `setup` does not make"),
        ("{x}.multiplied({y})", "the library has nothing of that name there"),
        ("torch.multiply({x}, {y}, wanted=True)", "the function takes other arguments"),
    ],
)
def test_a_spelling_that_is_wrong_is_found_and_its_mending_said(spelling: str, advice: str) -> None:
    found = [
        trial
        for trial in failing(aliases={"multiply": (spelling,)})
        if trial.fields == {"operators.multiply": spelling}
    ]
    assert found
    assert all(advice in trial.remedy for trial in found)
    assert {next(iter(trial.fields.values())) for trial in failing(aliases={"multiply": (spelling,)})} == {spelling}


def test_an_error_that_the_adapter_declares_as_a_refusal_is_none_to_be_mended() -> None:
    spelling = "[][{x}.ndim + 9]"
    assert failing(aliases={"multiply": (spelling,)})
    assert not failing(aliases={"multiply": (spelling,)}, refusals=("IndexError: list index out of range",))


def test_an_error_is_made_a_pattern_that_finds_it() -> None:
    trial = failing(aliases={"multiply": ("[][{x}.ndim + 9]",)})[0]
    assert trial.remedy.endswith("`refusals = ['IndexError: list index out of range']`")


def test_a_pattern_with_a_quotation_mark_is_one_of_toml_too() -> None:
    spelling = "getattr({x}, 'nothing', None)[0]"
    trial = failing(aliases={"multiply": (spelling,)})[0]
    (pattern,) = tomllib.loads(trial.remedy.rpartition(", `")[2].rstrip("`"))["refusals"]
    assert "'NoneType'" in pattern
    assert not failing(aliases={"multiply": (spelling,)}, refusals=(pattern,))


def test_an_engine_of_scalars_is_tried_on_numbers_alone() -> None:
    assert {trial.kind for trial in tried(scalars_only=True)} == {"a number"}


def test_a_program_shows_what_was_run() -> None:
    trial = failing(leaf="torch.tensor(np.atleast_1d({array}), requires_grad={requires_grad})")[0]
    assert "np.atleast_1d" in trial.program


def test_some_operators_of_the_reference_engine_have_nothing_to_mend() -> None:
    """Every eighth of them: all take many seconds."""
    some = dict(islice(ADAPTER.operators.items(), 0, None, 8))
    found = tried(operators=some)
    assert [trial.came_back for trial in found if trial.failed] == []
    assert {f"operators.{name}" for name in some} <= {name for trial in found for name in trial.fields}


@pytest.mark.slow
def test_the_reference_engine_has_nothing_to_mend() -> None:
    found = [*trials(start("refgrad", "python"))]
    assert [trial.came_back for trial in found if trial.failed] == []
    assert isinstance(found[0].engine.adapter, TapeAdapter)


REFUSED = "\n\ndef refuse(x):\n    raise NotImplementedError(f'no {x.shape}')\n"
ALONE = "\n\ndef alone(x):\n    if x.shape: raise NotImplementedError\n    return x\n"


def test_a_leaf_that_is_refused_for_every_kind_is_no_adapter() -> None:
    found = failing(setup=ADAPTER.setup + REFUSED, leaf="refuse({array})")
    assert [trial.kind for trial in found] == ["a number", "a vector", "a matrix", "an empty array"]
    assert found[0].came_back.endswith("raised NotImplementedError: no ()")
    assert "`leaf` and `value` must work for one of them" in found[0].remedy


def test_a_leaf_that_is_refused_for_some_kinds_is_one() -> None:
    leaf = "torch.tensor(alone({array}), requires_grad={requires_grad})"
    found = tried(setup=ADAPTER.setup + ALONE, leaf=leaf)
    assert not any(trial.failed for trial in found)
    assert {trial.kind for trial in found if trial.finding.outcome == "passed"} == {"a number"}
