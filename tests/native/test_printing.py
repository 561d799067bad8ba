"""A printed program shows what was observed: it is made of the statements that were executed."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from refgrad.generation import (
    ALL_FEATURES,
    LIFECYCLE_OPERATORS,
    Profile,
    lifecycle_profile,
    lifecycle_scenario,
    operator_scenario,
    random_scenario,
    second_order_scenario,
)
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.lifecycle import required_features
from refgrad.native.adapter import find_adapter
from refgrad.native.display import failing_steps
from refgrad.native.engine import Engine, observe, reproduce, start
from refgrad.native.languages import LANGUAGES
from refgrad.native.observation import Observation
from refgrad.native.statements import Call
from refgrad.operators import operator_table
from refgrad.scenario import Read, Scenario, parse
from tests.effort import seeds

pytestmark = pytest.mark.turns(2)

COUNT = len(seeds(100))
ENGINES = ["refgrad", *(pytest.param(name, marks=pytest.mark.engines) for name in ("autograd", "mygrad", "torch"))]


def scenarios(engine: Engine) -> Iterator[Scenario]:
    """Yield scenarios of every kind that an engine can run."""
    names = [name for name in operator_table() if name in engine.operators]
    features = engine.adapter.features
    yield from (s for behaviour in all_behaviours() for s in behaviour.scenarios)
    for seed in range(COUNT):
        name = names[seed * 7 % len(names)]
        yield operator_scenario(seed, name, Profile(seeds=True, operators=frozenset({name})))
        plain = frozenset(name for name in ("add", "multiply", "exp", "sin", "sum") if name in names)
        yield random_scenario(seed, Profile(operators=plain, max_backwards=3, accumulate=True, seeds=True))
        if "double_backward" in features:
            yield second_order_scenario(seed, "multiply", Profile(operators=frozenset({"multiply"})))
        if features & ALL_FEATURES and hasattr(engine.adapter, "backward"):
            offered = frozenset(LIFECYCLE_OPERATORS) & engine.operators.keys()
            yield lifecycle_scenario(seed, lifecycle_profile(features=features & ALL_FEATURES, operators=offered))


def runnable(scenario: Scenario, engine: Engine) -> bool:
    lacking = scenario.operators - engine.operators.keys() or engine.adapter.dtypes_lacking(scenario)
    return required_features(scenario) <= engine.adapter.features and not lacking


def printed(program: str) -> list[Any]:
    """Return what a program prints, exceptions by their type; the one that ends it comes last."""
    shown: list[Any] = []
    namespace = {"print": lambda *told: shown.append(deepcopy(told[0]))}
    try:
        with np.errstate(all="ignore"):
            exec(compile(program, "<program>", "exec", dont_inherit=True), namespace)
    except Exception as error:  # noqa: BLE001 (whatever an engine raises is what the program shows)
        shown.append(f"{type(error).__name__}: {error}")
    return [each.partition(":")[0] if isinstance(each, str) else each for each in shown]


def observed(scenario: Scenario, engine: Engine) -> list[Any]:
    """Return what was observed of the same, in the same form."""
    failing = failing_steps(scenario, engine.adapter.policy)
    shown: list[Any] = []
    for at, (step, seen) in enumerate(zip(scenario.steps, observe(scenario, engine), strict=True)):
        if seen.error is not None:
            shown.append(seen.error.type)
            if at not in failing:
                break
        elif isinstance(step, Read):
            shown.append(_shown(step, seen))
    return shown


def _shown(step: Read, seen: Observation) -> Any:
    return list(seen.array) if step.what == "hook" and seen.array is not None else seen.array


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if one is None or other is None or isinstance(one, str) or isinstance(other, str):
        return type(one) is type(other) and one == other
    first, second = np.asarray(one), np.asarray(other)
    return first.shape == second.shape and np.array_equal(first, second, equal_nan=first.dtype.kind == "f")


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENGINES)
def test_every_program_prints_what_was_observed(name: str) -> None:
    pytest.importorskip(name, reason=f"needs {name}")
    engine = start(find_adapter(name))
    tried = [scenario for scenario in scenarios(engine) if runnable(scenario, engine)]
    assert len(tried) > COUNT
    for scenario in tried:
        due, shown = observed(scenario, engine), printed(reproduce(scenario, engine))
        assert same(due, shown), f"{scenario.text}\n{reproduce(scenario, engine)}\n{due}\n{shown}"


@pytest.mark.engines
def test_several_backwards_and_a_reset_of_a_functional_engine_print_what_was_observed() -> None:
    pytest.importorskip("autograd", reason="needs autograd")
    engine = start(find_adapter("autograd"))
    scenario = parse(
        "x = leaf float64[] {0x1p+1} requires_grad\n"
        "a = multiply x x\n"
        "b = exp x\n"
        "backward a retain_graph\n"
        "backward b\n"
        "read grad x\n"
        "zero grad x\n"
        "backward a\n"
        "read grad x\n"
    )
    assert observed(scenario, engine) == pytest.approx([4 + np.exp(2), 4])
    assert printed(reproduce(scenario, engine)) == pytest.approx([4 + np.exp(2), 4])


def test_what_is_no_atom_stands_in_parentheses() -> None:
    scenario = parse("x = leaf float64[] {-0x1p+1} requires_grad\ny = integer_power x n=-2\nread value y\n")
    engine = start(find_adapter("refgrad"))
    assert observed(scenario, engine) == [0.25]
    assert printed(reproduce(scenario, engine)) == [0.25]


@pytest.mark.parametrize("number", [float("inf"), -float("inf"), float("nan"), 1.5])
def test_a_number_is_printed_as_python_reads_it(number: float) -> None:
    printed = LANGUAGES["python"].literal(number)
    assert np.array_equal(eval(printed, {}), number, equal_nan=True)


@pytest.mark.parametrize("name", sorted(LANGUAGES.keys() - {"python", "none"}))
def test_a_language_whose_runner_has_no_regions_says_so(name: str) -> None:
    with pytest.raises(TypeError, match=r"the runner of \w+ has no region no_grad\(\)"):
        LANGUAGES[name].region(Call("no_grad()"), [], by_error=False)
