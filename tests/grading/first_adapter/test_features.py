"""What a library has is declared; a template of what fails is left out, and takes nothing else with it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace

import pytest

from refgrad.grading.first_adapter.candidates import Asking
from refgrad.grading.first_adapter.choosing import choose, with_policy, without_what_fails
from refgrad.grading.first_adapter.library import LibraryModules, StartedLibrary
from refgrad.lifecycle import Policy
from refgrad.native.adapter import FunctionalAdapter, TapeAdapter
from tests.grading import scalar_tape

MODULE = "tests.grading.first_adapter.plain_tape"
TAPE = TapeAdapter(
    name="plain",
    setup=f"import {MODULE}",
    leaf=f"{MODULE}.Value({{array}})",
    value="{x}.data",
    backward="{output}.backward()",
    gradient="{leaf}.grad",
    zero_grad="setattr({leaf}, 'grad', None)",
    operators={"add": "{x} + {y}", "multiply": "{x} * {y}"},
    policy=Policy(frees="never", implicit_seed="ones", keeps="all"),
    lacks=frozenset({"error:no-graph"}),
)
ADDING = Policy(frees="never", keeps="all")
FLAT = FunctionalAdapter(
    name="flat",
    setup="def slopes(f, x, y):\n    return f(x, y), lambda seed: [seed * y, seed * x]\n",
    leaf="{array}",
    vjp="slopes({function}, *{primals})",
    operators={"multiply": "{x} * {y}"},
    nests=True,
)


def answer(_field: str, proposed: str | None) -> str:
    return proposed or ""


def left(adapter: TapeAdapter | FunctionalAdapter, options: Mapping[str, str]) -> TapeAdapter | FunctionalAdapter:
    started = StartedLibrary(adapter)
    return without_what_fails(started, Asking(answer, options)).adapter


def test_a_reset_that_fails_is_left_out_and_what_needs_it_is_not_lacking() -> None:
    adapter = left(TAPE, {})
    assert isinstance(adapter, TapeAdapter)
    assert adapter.zero_grad is None
    assert not adapter.lacks & {"zero_grad", "retain_graph"}


def test_a_reset_of_the_users_own_stays_and_is_lacking() -> None:
    adapter = left(TAPE, {"zero_grad": str(TAPE.zero_grad)})
    assert isinstance(adapter, TapeAdapter)
    assert adapter.zero_grad == TAPE.zero_grad
    assert "zero_grad" in adapter.lacks
    assert "retain_graph" not in adapter.lacks


def test_a_pullback_that_does_not_nest_is_not_declared_to() -> None:
    adapter = left(FLAT, {})
    assert isinstance(adapter, FunctionalAdapter)
    assert not adapter.nests
    assert "double_backward" not in adapter.lacks


def test_a_library_without_seeds_is_recognized() -> None:
    adapter = choose(LibraryModules("plain", (MODULE,), sys.executable), Asking(answer, {})).started.adapter
    assert isinstance(adapter, TapeAdapter)
    assert adapter.backward == "{output}.backward()"
    assert adapter.zero_grad == "setattr({leaf}, 'grad', 0)"
    assert adapter.dtypes[:2] == ("float64", "float32")
    assert adapter.lacks == {"error:no-graph"}


def test_wrong_numbers_of_a_kept_graph_are_left_to_the_report() -> None:
    again = "def again(x):\n    x.times = getattr(x, 'times', 0) + 1\n    for _ in range(x.times): x.backward()\n"
    setup, tape = f"import {MODULE}\n{again}", replace(TAPE, backward="again({output})", zero_grad=None)
    wrong = left(replace(tape, setup=setup), {})
    assert not wrong.lacks & {"retain_graph", "accumulate"}
    raising = setup.replace("for _ in", "assert x.times == 1\n    for _ in")
    assert "retain_graph" in left(replace(tape, setup=raising), {}).lacks


@pytest.mark.parametrize(
    ("setup", "policy"),
    [
        (scalar_tape.OVERWRITES, replace(ADDING, accumulates="overwrites")),
        (scalar_tape.SOURCE, ADDING),
        (scalar_tape.PRODUCT_ASSIGNS, ADDING),
        (scalar_tape.SUM_ASSIGNS, ADDING),
        (scalar_tape.ALL_ASSIGN, ADDING),
        (scalar_tape.EARLY_PARENTS, ADDING),
        (scalar_tape.DOUBLES, ADDING),
    ],
)
def test_no_policy_is_inferred_from_a_wrong_gradient(setup: str, policy: Policy) -> None:
    adapter = replace(TAPE, setup=setup, leaf="Value({scalar})", zero_grad=None, scalars_only=True, policy=Policy())
    known = with_policy(StartedLibrary(adapter)).adapter
    assert isinstance(known, TapeAdapter)
    assert known.policy == policy


@pytest.mark.parametrize("setup", [scalar_tape.SOURCE, scalar_tape.PRODUCT_ASSIGNS])
def test_a_reset_works_with_every_operator(setup: str) -> None:
    adapter = replace(TAPE, setup=setup, leaf="Value({scalar})", scalars_only=True)
    resets = [f"setattr({{leaf}}, 'grad', {to})" for to in (None, 0)]
    by_none, by_zero = (StartedLibrary(replace(adapter, zero_grad=reset)) for reset in resets)
    assert by_none.kinds_differentiated(["a number"], reset=True) == []
    assert by_zero.kinds_differentiated(["a number"], reset=True) == ["a number", "a number without a seed"]
