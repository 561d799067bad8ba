"""Exercises see what is wrong later, by chance, at once, in threads, in hooks and behind regions, and nothing else."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from typing import Any, Final

import pytest

from refgrad.engine import autograd
from refgrad.engine.graph import node, sweep, tensor
from refgrad.engine.graph.sweep import RECORDING
from refgrad.engine.graph.tensor import Tensor
from refgrad.facts import Error, NotedNumber
from refgrad.grading.measurements import METHODS, Measurement, Reading, script
from refgrad.grading.measurements.exercises import EXERCISES, Exercise
from refgrad.grading.settings import Settings
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, start
from refgrad.native.library import Library
from tests.native.reference import ADAPTER

DELAYED_SETUP: Final = """
import numpy as np
reads, products = [0], [0]

def late(gradient):  # one more from the 300th read on
    reads[0] += 1
    return gradient if gradient is None or reads[0] < 300 else gradient + 1.0

def seldom(x, y):  # half as much in every 97th product
    products[0] += 1
    return x * y * (0.5 if products[0] % 97 == 0 else 1.0)
"""

LISTS: Final = """
def first_alone(outputs, leaves, seeds):
    return torch.grad(outputs[:1], leaves, seeds[:1], allow_unused=True)

def one_of_each(tensors):
    return list(dict.fromkeys(tensors))

def each_by_itself(outputs, seeds):
    for output, seed in zip(outputs, seeds):
        output.backward(seed)

def one_by_one(outputs, seeds):
    for output, seed in zip(outputs, seeds):
        output.backward(seed, retain_graph=True)
"""

THREAD_SETUP: Final = """
import time
scratch, switched = [None], [False]

def by_way_of_all(gradient):  # one place for the whole process
    scratch[0] = gradient
    time.sleep(0.0002)
    return scratch[0]

def through_leaves(outputs, leaves, seeds):  # adds to leaves for a while
    torch.autograd.backward(outputs, seeds)
    time.sleep(0.0002)
    found = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    return found

class Everywhere:  # a mode of the whole process
    def __enter__(self):
        switched[0] = True

    def __exit__(self, *exception):
        switched[0] = False
"""

HOOK_SETUP: Final = """
running = []

def alone(output, seed, retain_graph):  # does nothing while another one runs
    if running:
        return
    running.append(output)
    try:
        output.backward(seed, retain_graph=retain_graph)
    finally:
        running.clear()
"""

ANY_SETUP: Final = """
def silenced(hook):  # errors are lost
    def quiet(gradient):
        try:
            return hook(gradient)
        except Exception:
            return None

    return quiet

def cut(x, y):  # to the length of the shorter operand
    lengths = [each.shape[0] for each in (x, y) if each.ndim]
    return [each[: min(lengths)] if each.ndim else each for each in (x, y)]
"""

REGION_SETUP: Final = """
from functools import wraps

class Region:
    def __init__(self, restores):
        self.restores = restores

    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)

    def __exit__(self, kind, error, trace):
        if self.restores(kind):
            torch.set_grad_enabled(self.before)

    def __call__(self, function):
        @wraps(function)
        def inside(*arguments):
            with self:
                return function(*arguments)

        return inside

def never(kind):
    return False

def without_error(kind):
    return kind is None

def always(kind):
    return True

def by_hand(function):
    def inside(*arguments):
        torch.set_grad_enabled(False)
        result = function(*arguments)
        torch.set_grad_enabled(True)
        return result

    return inside

def within(function):
    def inside(*arguments):
        with torch.no_grad():
            return function(*arguments)

    return inside
"""

GRADS: Final = "torch.grad({outputs}, {leaves}, {seeds}, allow_unused=True)"
DELAYED_FAULTS: Final[Any] = (DELAYED_SETUP, {"gradient": "late({leaf}.grad)"})
NEVER: Final[Any] = (REGION_SETUP, {"no_grad": "Region(never)"})
NOT_AFTER_ERRORS: Final[Any] = (REGION_SETUP, {"no_grad": "Region(without_error)"})
BY_HAND: Final[Any] = (REGION_SETUP, {"no_grad_around": "by_hand({function})"})
ONE_REGION: Final[Any] = (REGION_SETUP, {"no_grad_around": "Region(always)({function})"})
SUMMED_SEEDS: Final[Any] = (
    "",
    {"backward": "{output}.backward(torch.tensor(np.full({output}.shape, {seed}.numpy().sum())))"},
)
COPIED_GRADIENT: Final[Any] = ("", {"scale_gradient": "{leaf}.grad.clone().mul_({factor})"})
TO_ALL_LEAVES: Final[Any] = ("", {"backward_to": "{output}.backward()"})
UNRECORDED: Final[Any] = ("", {"recorded_backward": "{output}.backward(retain_graph=True)"})
LOST_ERRORS: Final[Any] = (ANY_SETUP, {"hook": "{x}.register_hook(silenced({function}))"})

BROKEN: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "again": (DELAYED_SETUP, {"operators": {**ADAPTER.operators, "multiply": "seldom({x}, {y})"}}),
    **dict.fromkeys(("graphs", "accumulations", "calls", "resets", "alive"), DELAYED_FAULTS),
    "several_leaves": ("", {"grads": GRADS + "[::-1]"}),
    "several_outputs": (LISTS, {"grads": "first_alone({outputs}, {leaves}, {seeds})"}),
    "leaves_in_another_order": ("", {"grads": GRADS + "[::-1]"}),
    "unused_leaf": ("", {"grads": "[gradient for gradient in " + GRADS + " if gradient is not None]"}),
    "repeated_leaf": (LISTS, {"grads": GRADS.replace("{leaves}", "one_of_each({leaves})")}),
    "repeated_output": (LISTS, {"grads": "first_alone({outputs}, {leaves}, {seeds})"}),
    "backward_from_several": (LISTS, {"backwards": "each_by_itself({outputs}, {seeds})"}),
    "backward_in_another_order": ("", {"backwards": "torch.autograd.backward({outputs}, {seeds}[::-1])"}),
    "backward_from_one_twice": (LISTS, {"backwards": "torch.autograd.backward({outputs}[:1], {seeds}[:1])"}),
    "threads": (THREAD_SETUP, {"gradient": "by_way_of_all({leaf}.grad)"}),
    "threads_with_one_leaf": (THREAD_SETUP, {"grads": "through_leaves({outputs}, {leaves}, {seeds})"}),
    **dict.fromkeys(
        ("region_around_a_thread", "region_in_a_thread"),
        (
            THREAD_SETUP,
            {
                "no_grad": "Everywhere()",
                "leaf": "torch.tensor({array}, requires_grad={requires_grad} and not switched[0])",
            },
        ),
    ),
    **dict.fromkeys(
        ("backward_in_hook", "backward_in_hook_of_leaf"),
        (HOOK_SETUP, {"backward": "alone({output}, {seed}, {retain_graph})"}),
    ),
    **dict.fromkeys(("hook_removes_itself", "hook_of_leaf_removes_itself"), ("", {"unhook": "None"})),
    **dict.fromkeys(("hook_raises", "hook_of_leaf_raises"), LOST_ERRORS),
    **dict.fromkeys(("seeds_of_a_vector", "seeds_of_a_number"), SUMMED_SEEDS),
    **dict.fromkeys(("changed_gradient", "changed_gradient_of_kept_graph"), COPIED_GRADIENT),
    **dict.fromkeys(("backward_to_one_leaf", "backward_to_one_leaf_again"), TO_ALL_LEAVES),
    **dict.fromkeys(("recorded_backward", "recorded_backward_adds"), UNRECORDED),
    "operands_that_do_not_fit": (
        ANY_SETUP,
        {"operators": {**ADAPTER.operators, "add": "torch.add(*cut({x}, {y}))"}},
    ),
    "left_by_return": NEVER,
    "left_by_error_many_times": NOT_AFTER_ERRORS,
    "exhausted_generator": NEVER,
    "closed_generator": NOT_AFTER_ERRORS,
    "decorated": (REGION_SETUP, {"no_grad_around": "Region(never)({function})"}),
    "decorated_error": BY_HAND,
    "decorated_recursion": ONE_REGION,
    "decorated_inside": BY_HAND,
    "decorated_generator": ONE_REGION,
    "suspended_generator": ONE_REGION,
}
"""What is done wrong in each exercise: setup, and templates."""

IN_THE_SWEEP: Final = ("computed_tensor", "output_by_itself")
IN_MEMORY: Final = ("changed_gradient_of_one_leaf", "many_writes")


def measured(case: str, setup: str = "", changes: dict[str, Any] | None = None) -> Reading:
    adapter = replace(ADAPTER, setup=f"{ADAPTER.setup}\n{setup}", **(changes or {}))
    return METHODS["exercises"](Engine(adapter), {"cases": [case]}, Settings("smoke"))


@pytest.fixture(autouse=True)
def recording() -> Any:
    """Some of the engines here leave the mode as it must not be."""
    mode = RECORDING.set(True)
    yield
    RECORDING.reset(mode)


@pytest.mark.parametrize("case", EXERCISES)
@pytest.mark.parametrize("name", ["refgrad", "autograd", pytest.param("torch", marks=pytest.mark.engines)])
def test_engines_do_every_exercise_that_they_have_all_for(name: str, case: str) -> None:
    pytest.importorskip(name, reason=f"needs {name}")
    results = METHODS["exercises"](start(find_adapter(name)), {"cases": [case]}, Settings("smoke"))
    offered = name != "autograd" or (EXERCISES[case].functional is not None and "threads" not in EXERCISES[case].fields)
    wrong = name == "autograd" and case in {"seeds_of_a_vector", "seeds_of_a_number"}
    assert results.outcome == ("wrong" if wrong else "passed" if offered else "unsupported")


@pytest.mark.parametrize("case", BROKEN)
def test_each_exercise_is_failed_by_an_engine_that_does_it_wrong(case: str) -> None:
    result = measured(case, *BROKEN[case])
    assert isinstance(result.fact, Error if result.outcome == "unexpected-error" else NotedNumber)
    assert result.outcome in {"wrong", "missing", "unexpected-error"}
    assert result.message == f"{EXERCISES[case].what}: {result.fact.message()}"
    assert result.program


@pytest.mark.parametrize("case", IN_THE_SWEEP)
def test_a_sweep_that_ends_at_the_requested_tensor_misses_what_comes_after_it(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = sweep.leading_to
    monkeypatch.setattr(sweep, "leading_to", lambda targets, order: (complete(targets, order)[0], set(targets)))
    assert measured(case).outcome in {"wrong", "missing"}


def test_gradients_in_one_array_are_changed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autograd, "_separate", lambda totals, *_: list(map(Tensor, totals)))
    result = measured("changed_gradient_of_one_leaf")
    assert result.outcome == "wrong"
    assert "the last entry of the other gradient is 20.0" in result.message


def test_a_counter_of_four_bits_misses_16_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = node.note_write

    def wrapping(writes: Any) -> None:
        noted(writes)
        if node.version(writes) % 16 == 0:
            writes.clear()

    monkeypatch.setattr(tensor, "note_write", wrapping)
    result = measured("many_writes")
    assert result.outcome == "wrong"
    assert result.message.endswith("how many backward passes raised no error is 2.0, but it should be 0.0")


def test_every_exercise_has_an_engine_that_fails_it() -> None:
    assert {*BROKEN, *IN_THE_SWEEP, *IN_MEMORY} == EXERCISES.keys()


def test_a_number_that_is_wrong_at_random_is_reported_with_its_frequency() -> None:
    result = measured("again", *BROKEN["again"])
    assert result.outcome == "wrong"
    assert result.message.endswith("in 9 of 900 runs")
    assert result.fact == NotedNumber(
        label="the value, less x * x + x",
        seen="-4.5",
        expected="0.0",
        wrong=9,
        runs=900,
        numbers=(("the value, less x * x + x", "0.0"), ("the gradient, less 2 * x + 1", "0.0")),
    )


@pytest.mark.parametrize(
    ("lines", "outcome", "message"),
    [
        ("note('a', 1.0)\nnote('b', None)", "passed", "all numbers are right"),
        ("note('a', 1.0)\nnote('b', -0.0)", "passed", "all numbers are right"),
        ("note('a', None)\nnote('b', 2.0)", "wrong", "b is 2.0, but it should be 0.0"),
        ("note('a', None)\nnote('a', 1.0)", "missing", "a is missing, in 1 of 2 runs"),
        ("note('a', np.nan)\nnote('b', 2.0)", "wrong", "a is nan, but it should be 1.0"),
        ("note('a', 1.0)", "missing", "b was never noted"),
    ],
)
def test_the_first_of_the_worst_numbers_is_reported(lines: str, outcome: str, message: str) -> None:
    exercise = Exercise(tape=lines, expected={"a": 1.0, "b": False}, what="what")
    result = exercise.measured(Library(Engine(ADAPTER)), {}, Settings("smoke"))
    assert (result.outcome, result.message) == (outcome, f"what: {message}")


LEGAL: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "zeros for what nothing was sent to": (
        "unused_leaf",
        "",
        {"grads": "[torch.tensor(0.0) if g is None else g for g in " + GRADS + "]"},
    ),
    "minus zero in a leaf that nothing was added to": (
        "several_outputs",
        "",
        {"gradient": "-0.0 if {leaf}.grad is None else {leaf}.grad.numpy()"},
    ),
    "a list in place of a tuple": ("several_leaves", "", {"grads": f"list({GRADS})"}),
    "one output after the other": (
        "backward_from_several",
        LISTS,
        {"backwards": "one_by_one({outputs}, {seeds})"},
    ),
    "a weighted sum in place of seeds": (
        "backward_in_another_order",
        "",
        {"backwards": "sum(output * seed for output, seed in zip({outputs}, {seeds})).backward()"},
    ),
    "a function that opens a region itself": (
        "decorated_recursion",
        REGION_SETUP,
        {"no_grad_around": "within({function})"},
    ),
}


@pytest.mark.parametrize("choice", LEGAL)
def test_a_legal_choice_is_no_fault(choice: str) -> None:
    case, setup, changes = LEGAL[choice]
    assert measured(case, setup, changes).outcome == "passed"


def test_a_missing_feature_is_reported() -> None:
    assert measured("unused_leaf", "", {"grads": None}) == Reading("unsupported", "the engine has no grads")
    assert measured("threads", "", {"threads": False}) == Reading("unsupported", "the engine has no threads")


def test_several_exercises_are_as_bad_as_the_worst_and_without_those_that_the_engine_lacks() -> None:
    adapter = replace(
        ADAPTER, setup=ADAPTER.setup + LISTS, grads="first_alone({outputs}, {leaves}, {seeds})", backwards=None
    )
    cases = ["several_leaves", "several_outputs", "backward_from_several"]
    result = METHODS["exercises"](Engine(adapter), {"cases": cases}, Settings("smoke"))
    assert (result.outcome, result.examples) == ("wrong", 2)
    assert result.message == ("gradients of two outputs by two leaves: gradient 1 is 3.0, but it should be 123.0")


def test_the_program_prints_what_was_noted_and_needs_nothing_of_the_suite() -> None:
    program = script(start(ADAPTER), Measurement("exercises", {"cases": ["unused_leaf"]}))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, {})
    assert "gradient 1 [[12.0, 1]]\ngradient 2 [[None, 1]]\ngradient 3 [[4.0, 1]]\n" in out.getvalue()
    assert "grading" not in program


@pytest.mark.parametrize("name", [name for name, each in EXERCISES.items() if "no_grad" in each.features])
def test_an_exercise_needs_the_template_of_functions_in_regions_where_it_has_one(name: str) -> None:
    library = Library(start(replace(ADAPTER, no_grad_around="around_({function})")))
    written = "\n".join(EXERCISES[name].lines(library))
    assert ("around_(work)" in written) is ("no_grad_around" in EXERCISES[name].fields)
