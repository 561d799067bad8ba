"""Engines as people write them: by whatever names, keywords and refusals, each adapter says what the engine does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from refgrad.grading.first_adapter.candidates import Asking
from refgrad.grading.first_adapter.choosing import Chosen, choose
from refgrad.grading.first_adapter.library import LibraryModules
from refgrad.native.adapter import TapeAdapter
from tests.grading import scalar_tape
from tests.grading.first_adapter import freeing_tape

pytestmark = pytest.mark.turns(2)

ChooseFrom = Callable[..., tuple[TapeAdapter, Chosen]]

WITH_FAULTS = (
    scalar_tape.SOURCE
    + """
    def __truediv__(self, other):
        out = Value(self.data // other.data, (self, other))
        def send():
            self.grad += out.grad / other.data
            other.grad -= out.grad * self.data / other.data**2
        out.send = send
        return out

    def zero_grad(self):
        for parent in self.parents:
            parent.grad = 0.0

def maximum(x, y):
    return x if abs(x.data) > abs(y.data) else y
"""
)
"""A library of numbers with a maximum of another meaning, a wrong quotient, and a reset that resets nothing."""

OF_A_SEED = scalar_tape.SOURCE.replace("def backward(self):", "def backward(self, seed=1.0):").replace(
    "self.grad = 1.0", "self.grad = seed"
)
BY_OTHER_NAMES = (
    scalar_tape.SOURCE
    .replace("Value", "Dial")
    .replace("data", "number")
    .replace(".grad", ".slope")
    .replace("def backward(self)", "def propagate(self)")
)
STRICT = (
    scalar_tape.ARRAYS
    + scalar_tape.SUM
    .replace(", axis=None, keepdims=False", "")
    .replace(", axis=axis, keepdims=keepdims", "")
    .replace("out.grad if axis is None or keepdims else np.expand_dims(out.grad, axis)", "out.grad")
    + """
    def __neg__(self):
        if np.ndim(self.data) > 1:
            raise ValueError(f"no negatives of shape {self.data.shape}")
        out = Value(-self.data, (self,))
        def send():
            self.grad = self.grad - out.grad
        out.send = send
        return out
"""
)
"""A library of arrays that sums all entries only, and rejects the negative of a matrix."""

KNOWN = {"leaf": "mine.Value({scalar})", "value": "{x}.data", "gradient": "{leaf}.grad"}
"""Templates that are given where a test is about others."""


@pytest.fixture(scope="module")
def choose_from(tmp_path_factory: pytest.TempPathFactory) -> ChooseFrom:
    @cache
    def make(source: str, *given: tuple[str, str]) -> tuple[TapeAdapter, Chosen]:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path_factory.mktemp("library"))
            Path("mine.py").write_text(source, encoding="utf-8")
            library = LibraryModules.of(["./mine.py"], None, sys.executable)
            asking = Asking(lambda _, proposed: proposed or pytest.fail("nothing is found"), dict(given))
            chosen = choose(library, asking)
        assert isinstance(chosen.started.adapter, TapeAdapter)
        return chosen.started.adapter, chosen

    return make


def test_names_of_the_librarys_own_are_discovered(choose_from: ChooseFrom) -> None:
    adapter, _ = choose_from(BY_OTHER_NAMES)
    assert (adapter.leaf, adapter.value) == ("mine.Dial({scalar})", "{x}.number")
    assert (adapter.backward, adapter.gradient) == ("{output}.propagate()", "{leaf}.slope")
    assert adapter.zero_grad == "setattr({leaf}, 'slope', 0)"


@pytest.mark.parametrize(
    ("keyword", "default", "spelled"),
    [
        ("keep_graph", "False", "keep_graph={retain_graph}"),
        ("again", "False", "again={retain_graph}"),
        ("free", "True", "free=not {retain_graph}"),
    ],
)
def test_the_keyword_that_keeps_a_graph_is_determined_by_trials(
    choose_from: ChooseFrom, keyword: str, default: str, spelled: str
) -> None:
    adapter, _ = choose_from(freeing_tape.source(keyword, default), *KNOWN.items())
    assert adapter.backward == f"{{output}}.backward({spelled})"
    assert {"retain_graph", "error:freed-graph"} <= adapter.features


def test_a_graph_whose_results_keep_their_gradients_is_not_differentiated_again(choose_from: ChooseFrom) -> None:
    kept, _ = choose_from(WITH_FAULTS)
    assert "retain_graph" in kept.lacks
    forgotten, _ = choose_from(scalar_tape.FORGETS, *KNOWN.items(), ("backward", "{output}.backward()"))
    assert "retain_graph" in forgotten.features


def test_a_spelling_must_be_right_in_either_order_of_operands(choose_from: ChooseFrom) -> None:
    adapter, chosen = choose_from(WITH_FAULTS)
    assert "maximum" not in adapter.operators
    assert chosen.unlike == {"maximum": "mine.maximum({x}, {y})", "divide": "{x} / {y}"}


def test_a_wrong_value_of_a_python_operator_is_a_fault_that_is_graded(choose_from: ChooseFrom) -> None:
    adapter, _ = choose_from(WITH_FAULTS)
    assert adapter.operators["divide"] == "{x} / {y}"


def test_a_reset_of_the_engines_own_that_resets_nothing_is_graded(choose_from: ChooseFrom) -> None:
    adapter, _ = choose_from(WITH_FAULTS)
    assert adapter.zero_grad == "{leaf}.zero_grad()"
    assert "zero_grad" in adapter.features


def test_an_engine_of_python_floats_has_only_scalars_of_float64(choose_from: ChooseFrom) -> None:
    adapter, _ = choose_from(WITH_FAULTS)
    assert "{scalar}" in adapter.leaf
    assert (adapter.scalars_only, adapter.dtype, adapter.dtypes) == (True, "float64", ("float64",))


def test_an_engine_of_arrays_of_float64_may_keep_other_dtypes(choose_from: ChooseFrom) -> None:
    adapter, _ = choose_from(STRICT)
    assert "{scalar}" not in adapter.leaf
    assert (adapter.scalars_only, adapter.dtype, adapter.dtypes == ("float64",)) == (False, "float64", False)


def test_functions_that_take_no_vector_make_an_engine_of_numbers(choose_from: ChooseFrom) -> None:
    adapter, _ = choose_from(OF_A_SEED)
    assert (adapter.scalars_only, adapter.dtypes) == (True, ("float64",))
    assert "{seed}" in adapter.backward


def test_an_operand_that_an_engine_rejects_with_a_message_is_no_error(choose_from: ChooseFrom) -> None:
    adapter, _ = choose_from(STRICT)
    assert adapter.refusals == ("ValueError: no negatives of shape .*",)
    assert adapter.refuses("ValueError: no negatives of shape (7, 3, 2)")


def test_a_sum_without_keywords_is_one_of_all_entries(choose_from: ChooseFrom) -> None:
    adapter, _ = choose_from(STRICT)
    assert adapter.operators["sum"].startswith("{x}.sum() if ({axis}, {keepdims}) == (None, False) else ")
