"""Are behaviours well-formed, and malformed ones refused by name?"""

from __future__ import annotations

from pathlib import Path

import pytest

from refgrad.grading.checks.statements.behaviours import BehaviourError, all_behaviours, read_behaviours
from refgrad.lifecycle import predict

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


def test_every_behaviour_looks_at_something() -> None:
    for behaviour in all_behaviours():
        for scenario in behaviour.scenarios:
            kinds = {type(p).__name__ for p in predict(scenario)}
            assert kinds & {"Value", "Gradient", "NoGradient", "Flag", "Seen", "Fails"}, behaviour.id


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
            "a.scenarios: there is no such key here",
        ),
        (
            PROBED.format(probe="taste", rest=""),
            ": a: there is no probe 'taste'; there are ['exercises', 'graph', ",
        ),
        (PROBED.format(probe="release", rest=""), ": a: lacks 'after'"),
        (
            PROBED.format(probe="release", rest='after = "kept"\nbefore = 1'),
            ": a: has the unknown key 'before'",
        ),
        (PROBED.format(probe="exercises", rest='cases = ["lunch"]'), ": a: has the unknown case 'lunch'"),
        (
            PROBED.format(probe="exercises", rest="cases = []"),
            ": a: has no case; there are ['accumulations', ",
        ),
        (PROBED.format(probe="release", rest='after = "lunch"'), ": a: has the unknown case 'lunch'"),
        (
            PROBED.format(probe="scale", rest='graph = "chain"\nsizes = [1, 2, 3, 3]\nsmoke = [1, 2, 3, 4]'),
            ": a: 'sizes' must be at least 4 sizes that grow",
        ),
        (
            PROBED.format(probe="repetition", rest='case = "training"\niterations = 10\nsmoke = 400'),
            ": a: 'iterations' must be a number of at least 400",
        ),
        (
            PROBED.format(probe="graph", rest='claim = "which"\nrandom = "none"\ngraphs = ["x = leef"]'),
            ": a: a graph is malformed: ",
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
