"""What a library does not offer is said, in words that name the engine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking.libraries.jax_arrays import JaxArrays, equations
from refgrad.checking.libraries.library import TensorLibrary, UnsupportedError
from refgrad.checking.libraries.trees import Kind
from refgrad.native.engine import start
from tests.native.reference import ADAPTER


def test_second_derivatives_are_refused_where_nothing_is_known_of_them() -> None:
    with pytest.raises(UnsupportedError, match="second derivatives of refgrad are not checked"):
        TensorLibrary(start(ADAPTER)).gradient_function(lambda x: x, 1)


class Jax:
    """As much of JAX as measures compilation and runs a program again."""

    def __init__(self) -> None:
        self.listeners: list[Callable[..., None]] = []
        register = self.listeners.append
        self.engine: Any = SimpleNamespace(
            namespace={
                "jnp": np,
                "jax": SimpleNamespace(
                    Array=np.ndarray,
                    monitoring=SimpleNamespace(register_event_duration_secs_listener=register),
                    make_jaxpr=lambda _: lambda *primals: len(primals),
                ),
            }
        )


@pytest.mark.parametrize(("value", "dtype"), [(1.5, "float64"), (True, "bool"), (np.float32(1), "float32")])
def test_a_number_in_place_of_an_array_of_jax_has_a_kind(value: Any, dtype: str) -> None:
    assert JaxArrays(Jax().engine).kind(value).dtype == dtype


def test_the_compilation_of_jax_is_timed_and_nothing_else() -> None:
    jax = Jax()
    arrays = JaxArrays(jax.engine)
    assert arrays.compiled() == 0
    for event in ("/jax/core/compile/backend", "/jax/checkpoint/write", "/jax/core/compile/jaxpr"):
        jax.listeners[0](event, 0.5)
    assert arrays.compiled() == 1


@pytest.mark.parametrize("repeats", [False, True])
def test_a_program_of_jax_runs_again_unless_it_may_hold_random_numbers(
    *, repeats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SimpleNamespace(jaxpr_as_fun=lambda program: lambda *arguments: (program, arguments))
    monkeypatch.setitem(sys.modules, "jax.extend.core", run)
    moved = np.ones(2)
    subject = SimpleNamespace(
        programs={}, positions=[1], kinds=[Kind("float64")],
        applied=None, random_state=SimpleNamespace(repeats=repeats),
        make=lambda _, array: array, arguments=lambda point: ["constant", *point],
        call=lambda arguments, function: function and function(*arguments),
    )  # fmt: skip
    assert JaxArrays(Jax().engine).results(subject, (moved,)) == (None if repeats else (1, (moved,)))


class Own:
    """Something with values that the engine cannot read."""

    data = None


class Held:
    """A tensor of the reference engine by its looks, whose values are what it is told."""

    shape = (1,)

    def __init__(self, values: Any) -> None:
        self.values = values

    def detach(self) -> Held:
        """Return itself."""
        return self

    def numpy(self) -> Any:
        """Return the values."""
        return self.values


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (np.array([object()]), "output 0 is ndarray of dtype object, not a tensor"),
        (np.array(["a"]), "output 0 is ndarray of dtype <U1, not a tensor"),
        (np.str_("a"), "output 0 is str_ of dtype <U1, not a tensor"),
        (np.array(0, "M8[s]"), "output 0 is ndarray of dtype datetime64[s], not a tensor"),
        (np.zeros(1, [("a", float)]), "output 0 is ndarray of dtype [('a', '<f8')], not a tensor"),
        (Held(np.array([{}])), "an object of type Held holds values of dtype object, not numbers"),
        (
            Own(),
            "an object of type Own cannot be read as a tensor: AttributeError: 'Own' object has no attribute 'detach'",
        ),
    ],
    ids=["objects", "texts", "a text", "a time", "records", "a tensor of objects", "no tensor"],
)
def test_outputs_that_hold_no_numbers_are_told(output: Any, told: str) -> None:
    report = check_gradients(lambda _: output, np.ones(1), "refgrad", raise_exception=False, strict=False)
    assert (report.outcome, report.cause, str(report)) == ("inconclusive", "raises", told)


def test_an_array_of_objects_among_the_outputs_is_left_out() -> None:
    report = check_gradients(lambda x: (x * 2, np.array([object()])), np.ones(1), "refgrad")
    assert report.outcome == "right"


def test_programs_of_jax_inside_of_a_program_are_visited() -> None:
    """Parameters of an equation may be programs, such as a loop's body, tuples of programs, or anything else."""

    def program(name: str, **parameters: object) -> SimpleNamespace:
        return SimpleNamespace(eqns=[SimpleNamespace(name=name, params=parameters)])

    body, branches = program("body", length=3), (program("first"), program("second", inner=program("inner")))
    whole = program("whole", axes=(0, 1), body=body, branches=branches)
    assert [each.name for each in equations(whole)] == ["whole", "body", "first", "second", "inner"]
