"""Does every scenario come back, bit for bit, from its text, its JSON and its pickle?"""

import json
import pickle

from hypothesis import given

from refgrad.scenario import Scenario, parse
from tests.scenario.arbitrary_scenarios import scenarios


@given(scenarios())
def test_a_scenario_is_read_back_from_its_text(scenario: Scenario) -> None:
    again = parse(scenario.text)
    assert again == scenario
    assert again.text == scenario.text
    assert hash(again) == hash(scenario)
    assert again.id == scenario.id


@given(scenarios())
def test_a_scenario_is_read_back_from_its_json(scenario: Scenario) -> None:
    written = json.dumps(scenario.to_json(), allow_nan=False)
    again = Scenario.from_json(json.loads(written))
    assert again == scenario
    assert again.text == scenario.text


@given(scenarios())
def test_a_scenario_is_read_back_from_its_repr(scenario: Scenario) -> None:
    assert eval(repr(scenario), {"parse": parse}) == scenario


@given(scenarios())
def test_a_scenario_survives_pickling(scenario: Scenario) -> None:
    assert pickle.loads(pickle.dumps(scenario)) == scenario  # noqa: S301 - our own bytes


@given(scenarios())
def test_text_is_ascii_with_one_line_a_step(scenario: Scenario) -> None:
    assert scenario.text.isascii()
    assert scenario.text.count("\n") == len(scenario.steps)
