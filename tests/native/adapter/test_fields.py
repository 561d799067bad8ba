"""The table of fields describes what adapters accept: its examples are valid, its placeholders and features known."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, get_args

import pytest
from jsonschema_rs import Draft202012Validator

from refgrad.lifecycle import Policy
from refgrad.native.adapter import FEATURES, FunctionalAdapter, TapeAdapter
from refgrad.native.adapter.fields import SCHEMAS, STATEFUL_FEATURES, AdapterField, required, rows
from refgrad.native.adapter.files import file_fields
from refgrad.native.languages.language import Template
from refgrad.operators.table import AttributeType
from tests.effort import each
from tests.native.tiny_engine import tiny_adapter
from tests.report.placeholders import ATTRIBUTE_FORMATS, PLACEHOLDERS

ROWS = {**rows(TapeAdapter), **rows(FunctionalAdapter)}
TEMPLATES = {name: row for name, row in ROWS.items() if row.placeholders is not None}
FREE_OF_TEMPLATES = {"arrays", "accumulate", "error:freed-graph", "error:implicit-seed", "error:no-graph"}
"""Features that follow from declarations alone."""


def texts(row: AdapterField) -> list[str]:
    """The code templates of a row's example."""
    example = tomllib.loads(f"example = {row.toml}")["example"]
    return list(example.values()) if row.writes else [example]


@each("name", file_fields("family"))
def test_the_example_of_a_field_is_what_an_engine_file_may_hold(name: str) -> None:
    row = file_fields("family")[name]
    document = tomllib.loads(f"{name} = {row.toml}")
    Draft202012Validator(dict(row.schema)).validate(document[name])


@each("name", TEMPLATES)
def test_the_example_of_a_template_uses_the_placeholders_of_its_row_alone(name: str) -> None:
    for text in texts(TEMPLATES[name]):
        assert set(Template(text).fields) <= set(TEMPLATES[name].placeholders or ())


def test_every_placeholder_is_explained_and_used() -> None:
    assert {name for row in TEMPLATES.values() for name in row.placeholders or ()} == set(PLACEHOLDERS)


def test_every_type_of_attribute_is_explained() -> None:
    assert set(ATTRIBUTE_FORMATS) == set(get_args(AttributeType))


def test_every_feature_follows_from_a_field_or_a_declaration() -> None:
    given = {feature for row in ROWS.values() for feature in row.gives}
    given |= {f for row in ROWS.values() for features in row.gives_by_placeholder.values() for f in features}
    given |= {f"call:{way}" for way in SCHEMAS["ways"]["properties"]}
    assert given | FREE_OF_TEMPLATES == set(FEATURES)
    assert not given & FREE_OF_TEMPLATES
    assert set(STATEFUL_FEATURES) <= given


@pytest.mark.parametrize("name", [name for name in TEMPLATES if name in rows(TapeAdapter) and TEMPLATES[name].gives])
def test_a_field_that_is_given_gives_its_features_and_no_other_does(name: str) -> None:
    row = TEMPLATES[name]
    example: Any = tomllib.loads(f"example = {row.toml}")["example"]
    plain: dict[str, Any] = {"zero_grad": None, "lacks": frozenset()}
    needed = {row.needs: TEMPLATES[row.needs].example} if row.needs else {}
    given = tiny_adapter(**{**plain, **needed, name: example})
    assert given.features - tiny_adapter(**plain).features == set(row.gives)


def test_policies_give_and_take_features() -> None:
    def features(**policy: Any) -> frozenset[str]:
        return tiny_adapter(policy=Policy(**policy), lacks=frozenset()).features

    plain = features()
    assert features(frees="never") ^ plain == {"retain_graph", "error:freed-graph"}
    assert features(implicit_seed="ones") ^ plain == {"error:implicit-seed"}
    assert features(accumulates="replaces") ^ plain == {"accumulate"}


def test_what_a_kind_of_engine_needs_is_known() -> None:
    assert set(required(TapeAdapter)) == {"name", "setup", "leaf", "backward", "gradient"}
    assert set(required(FunctionalAdapter)) == {"name", "setup", "leaf", "vjp"}


def test_only_fields_of_templates_have_what_templates_have() -> None:
    others: Mapping[str, AdapterField] = {name: row for name, row in ROWS.items() if name not in TEMPLATES}
    assert not any(row.gives or row.gives_by_placeholder or row.writes or row.needs for row in others.values())
