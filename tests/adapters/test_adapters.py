"""Does each adapter drive its engine as that engine's users would?"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from refgrad.generation import Profile, operator_scenario
from refgrad.grading.checks.isolation import without_seeds
from refgrad.grading.judging.examination import examine
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, start
from refgrad.operators import operator_table
from refgrad.report.document import read_report
from tests.effort import seeds

pytestmark = pytest.mark.turns(2)

ENGINES = [
    *(
        "refgrad",
        "torch",
        "autograd",
        "mygrad",
        "micrograd",
        "paddle",
        "chainer",
        "dezero",
        "mlx",
        "mxnet",
        "neograd",
        "pytensor",
    ),
    *("smallpebble", "tensorflow"),
    pytest.param("jax", marks=pytest.mark.slow),
]
"""JAX compiles every operator anew for every shape."""

REPORTS = Path(__file__).parents[2] / "reports"

MARGINAL = MappingProxyType({"jax": frozenset({"erfinv"})})
"""What is wrong by some ten units in the last place, at points that a smoke run does not meet."""


def known_faults(engine: str) -> set[str]:
    """Return the operators that the committed report finds wrong in the engine itself, with a program for each."""
    report = REPORTS / f"{engine}.json"
    if not report.exists():
        pytest.skip(f"what is wrong in {engine} itself is not known: there is no report on it")
    verdicts = read_report(report).verdicts
    return {verdict.operator for verdict in verdicts if verdict.failed}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"needs refgrad[{request.param}]")
    return start(find_adapter(request.param))


@pytest.mark.engines
def test_every_operator_that_an_adapter_spells_runs_and_is_right(engine: Engine) -> None:
    table, known = operator_table(), known_faults(engine.adapter.name) | MARGINAL.get(engine.adapter.name, frozenset())
    for name in engine.operators:
        if name in known or (engine.adapter.scalars_only and not table[name].elementwise):
            continue  # what is wrong in itself may take the process down
        profile = Profile(scalars_only=engine.adapter.scalars_only)
        scenarios = [operator_scenario(seed, name, profile) for seed in seeds(20)]
        if "seed" not in engine.adapter.features:
            scenarios = [without_seeds(scenario) for scenario in scenarios]
        for scenario in scenarios:
            finding = examine(scenario, engine)
            assert finding.outcome in {"passed", "unsupported", "inconclusive"}, f"{finding.message}\n{scenario.text}"


@pytest.mark.engines
def test_every_further_spelling_is_right_too(engine: Engine) -> None:
    known = known_faults(engine.adapter.name)
    tried = [(name, text) for name, texts in engine.spellings.items() for text in texts[1:] if name not in known]
    for name, text in tried:
        alone = Engine(replace(engine.adapter, operators={**engine.operators, name: text}, aliases={}))
        for seed in seeds(20):
            finding = examine(operator_scenario(seed, name), alone)
            assert finding.outcome in {"passed", "unsupported", "inconclusive"}, f"{text}: {finding.message}"


@pytest.mark.engines
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("refgrad", len(operator_table())),
        ("torch", 250),
        ("jax", 230),
        ("autograd", 100),
        ("mygrad", 60),
        ("micrograd", 8),
        ("paddle", 100),
        ("chainer", 100),
        ("dezero", 25),
        ("mlx", 120),
        ("mxnet", 100),
        ("neograd", 15),
        ("pytensor", 110),
        ("smallpebble", 15),
        ("tensorflow", 150),
    ],
)
def test_adapters_spell_what_their_engines_have(name: str, least: int) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"needs refgrad[{name}]")
    assert len(start(find_adapter(name)).operators) >= least
