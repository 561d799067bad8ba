"""Every scenario comes back, bit for bit, from its text, its JSON, its repr, its pickle and a renaming."""

import json
import pickle

from hypothesis import given
from jsonschema_rs import Draft202012Validator

from refgrad.documents import schema_of
from refgrad.scenario import Scenario, parse
from tests.scenario.arbitrary_scenarios import scenarios

VALIDATOR = Draft202012Validator(schema_of("scenario"))


@given(scenarios())
def test_a_scenario_comes_back_from_each_of_its_forms(scenario: Scenario) -> None:
    """One draw serves all forms, since drawing takes longer than writing and reading."""
    assert_read_back_from_text(scenario)
    assert_read_back_from_json(scenario)
    assert eval(repr(scenario), {"parse": parse}) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario  # noqa: S301 - our own bytes
    assert_renamed_and_back(scenario)


def assert_read_back_from_text(scenario: Scenario) -> None:
    assert scenario.text.isascii()
    assert scenario.text.count("\n") == len(scenario.steps)
    again = parse(scenario.text)
    assert again == scenario
    assert again.text == scenario.text
    assert hash(again) == hash(scenario)
    assert again.id == scenario.id


def assert_read_back_from_json(scenario: Scenario) -> None:
    document = scenario.to_json()
    VALIDATOR.validate(document)
    again = Scenario.from_json(json.loads(json.dumps(document, allow_nan=False)))
    assert again == scenario
    assert again.text == scenario.text


def assert_renamed_and_back(scenario: Scenario) -> None:
    names = {name: f"{name}_renamed" for step in scenario.steps for name in (getattr(step, "name", None),) if name}
    renamed = Scenario(tuple(step.renamed(names) for step in scenario.steps))
    assert [step.defines for step in renamed.steps if step.defines] == [names[name] for name in scenario.definitions]
    assert [step.uses for step in renamed.steps] == [tuple(map(names.get, step.uses)) for step in scenario.steps]
    back = {new: old for old, new in names.items()}
    assert Scenario(tuple(step.renamed(back) for step in renamed.steps)) == scenario
