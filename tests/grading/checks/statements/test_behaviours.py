"""Are behaviours well-formed, and malformed ones refused by name?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from refgrad.grading.checks.behaviours import BehaviourError, all_behaviours, read_behaviours
from refgrad.grading.measurements import METHODS, Measurement
from refgrad.grading.measurements.exercises import EXERCISES
from refgrad.grading.measurements.growth import GROWTH
from refgrad.grading.measurements.introspection import CLAIMS, MAKERS
from refgrad.grading.measurements.memory import ITERATIONS, RELEASES, REPETITIONS
from refgrad.grading.measurements.scale import LARGE_GRAPHS
from refgrad.lifecycle import predict
from refgrad.specification import specs_directory

ROW = """
[{name}]
level = "{level}"
statement = "It works."
rationale = "It should."
source = "somewhere"
scenarios = ["{scenario}"]
"""

PROBED = """
[a]
level = "MUST"
statement = "It works."
rationale = "It should."
source = "somewhere"
probe = "{probe}"
{rest}
"""


def test_ids_are_unique_and_every_scenario_can_be_predicted() -> None:
    behaviours = all_behaviours()
    assert len({b.id for b in behaviours}) == len(behaviours) >= 30
    assert all(predict(scenario) for b in behaviours for scenario in b.scenarios)
    several = next(b for b in behaviours if len(b.scenarios) > 1)
    assert several.tested_by == f"{len(several.scenarios)} scenarios"
    assert replace(several, scenarios=several.scenarios[:1]).tested_by == "1 scenario"
    assert replace(several, measurement=Measurement("m", {"a": "b", "c": 1})).tested_by == "measurement m b"


def test_every_behaviour_looks_at_something() -> None:
    for behaviour in all_behaviours():
        for scenario in behaviour.scenarios:
            kinds = {type(p).__name__ for p in predict(scenario)}
            assert kinds & {"ExpectedValue", "Gradient", "NoGradient", "ExpectedFlag", "Seen", "Fails"}, behaviour.id


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ROW.format(name="a", level="OUGHT", scenario="x = leaf float64[] {0x1p+0}"),
            ': a.level: "OUGHT" is not one of "MUST", "SHOULD", "MAY"',
        ),
        (ROW.format(name="a", level="MUST", scenario="x = leef"), ": a: a scenario is malformed: "),
        (
            ROW.format(name="a", level="MUST", scenario="") + "extra = 1",
            "a.extra: there is no such key; there are level, ",
        ),
        ('[a]\nlevel = "MUST"', "a: 'statement' is missing"),
        (
            ROW.format(name="a", level="MUST", scenario="").replace('[""]', "[]"),
            "a.scenarios: [] has less than 1 item",
        ),
        (
            ROW.format(name="a", level="MUST", scenario="") + 'probe = "scale"',
            "a.scenarios: there is no such key; there are level, ",
        ),
        (
            PROBED.format(probe="taste", rest=""),
            ': a.probe: "taste" is not one of "exercises", "graph", "release", "weak_reference", ',
        ),
        (PROBED.format(probe="release", rest=""), ": a: 'after' is missing"),
        (
            PROBED.format(probe="release", rest='after = "kept"\nbefore = 1'),
            ": a.before: there is no such key; there are level, ",
        ),
        (PROBED.format(probe="exercises", rest='cases = ["lunch"]'), ': a.cases[0]: "lunch" is not one of '),
        (
            PROBED.format(probe="exercises", rest="cases = []"),
            ": a.cases: [] has less than 1 item",
        ),
        (PROBED.format(probe="release", rest='after = "lunch"'), ': a.after: "lunch" is not one of "addition'),
        (
            PROBED.format(probe="scale", rest='graph = "chain"\nsizes = [1, 2, 3, 3]\nsmoke = [1, 2, 3, 4]'),
            ": a.sizes: [1,2,3,3] has non-unique elements",
        ),
        (
            PROBED.format(probe="repetition", rest='case = "training"\niterations = 10\nsmoke = 400'),
            ": a.iterations: 10 is less than the minimum of 400",
        ),
        (
            PROBED.format(probe="graph", rest='claim = "which"\nrandom = "none"\ngraphs = ["x = leef"]'),
            ": a: a scenario is malformed: line 1: unknown operator 'leef'",
        ),
        ("[a", "chapter.toml: "),
    ],
)
def test_a_malformed_behaviour_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "chapter.toml"
    path.write_text(text)
    with pytest.raises(BehaviourError) as caught:
        read_behaviours(path)
    assert message in str(caught.value)


def test_the_schema_has_the_measurements_that_there_are() -> None:
    schema = json.loads((specs_directory() / "schema" / "behaviours.schema.json").read_text(encoding="utf-8"))
    row = schema["additionalProperties"]
    assert set(row["properties"]["probe"]["enum"]) == METHODS.keys()
    probes = {each["if"]["properties"]["probe"]["const"]: each["then"]["properties"] for each in row["then"]["allOf"]}
    assert probes.keys() == METHODS.keys()
    assert set(probes["exercises"]["cases"]["items"]["enum"]) == EXERCISES.keys()
    assert set(probes["graph"]["claim"]["enum"]) == set(CLAIMS)
    assert set(probes["graph"]["random"]["enum"]) == set(MAKERS)
    assert set(probes["release"]["after"]["enum"]) == RELEASES.keys()
    assert set(probes["repetition"]["case"]["enum"]) == REPETITIONS.keys()
    assert probes["repetition"]["iterations"]["minimum"] == 100 * ITERATIONS["rounds"]
    assert set(probes["scale"]["graph"]["enum"]) == LARGE_GRAPHS.keys()
    assert probes["scale"]["sizes"]["minItems"] == GROWTH["fitted"]


def test_the_sizes_of_large_graphs_grow() -> None:
    parameters = [each.measurement.parameters for each in all_behaviours() if each.measurement is not None]
    sizes = [given[name] for given in parameters if "sizes" in given for name in ("sizes", "smoke")]
    assert sizes
    assert all(each == sorted(each) for each in sizes)
